import type { Cursors, Feed, History, Stations } from '../../messages/store.ts'
import { LocalRings } from './local-rings.ts'
import type { RingCache } from './ring-cache.ts'
import { RingMemory } from './ring-memory.ts'
import { SharedRings } from './shared-rings.ts'

interface StationRings {
  readonly stations: Pick<Stations, 'get' | 'avatarChanges'>
  readonly history: Pick<History, 'since' | 'perStation'>
  readonly cursors: Cursors
}

/** The parts of a store that a ring cache needs. */
type RingStore = StationRings & ({ readonly isShared: true } | { readonly isShared: false; readonly feed: Feed })

/**
 * Enough for 5,000 stations with 50 messages each: 13 KB a station if each text has the longest allowed length of 67
 * characters, with the compressed copy included.
 */
const MAX_BYTES = 80_000_000

/**
 * Creates the ring cache that fits the store: one for a store that this process has to itself, or one for a shared
 * store. `maxBytes` bounds all rings together; those that were not requested for the longest are dropped first.
 */
export function createRingCache(store: RingStore, maxBytes: number = MAX_BYTES): RingCache {
  const { stations, history } = store
  const memory = new RingMemory(stations, maxBytes)
  if (store.isShared) return new SharedRings({ history, memory })
  return new LocalRings({ stations, history, feed: store.feed, cursors: store.cursors, memory })
}
