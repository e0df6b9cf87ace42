import { type Log, SILENT_LOG } from '../../log.ts'
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

/** The parts of a store that a ring cache uses. */
type RingStore = StationRings & ({ readonly isShared: true } | { readonly isShared: false; readonly feed: Feed })

/**
 * Limit of all cached rings in bytes: for 5,000 rings of 50 messages of 67 characters, each 13 KB with its compressed
 * copy.
 */
const MAX_BYTES = 80_000_000

/** Creates the ring cache: {@link LocalRings} if only this process uses the store, otherwise {@link SharedRings}. */
export function createRingCache(store: RingStore, maxBytes: number = MAX_BYTES, log: Log = SILENT_LOG): RingCache {
  const { stations, history } = store
  const memory = new RingMemory(stations, maxBytes)
  if (store.isShared) return new SharedRings({ stations, history, memory, log })
  return new LocalRings({ stations, history, feed: store.feed, cursors: store.cursors, memory, log })
}
