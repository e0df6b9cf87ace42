import { type CallList, callList } from '../aprs/call-list.ts'
import type { Log } from '../log.ts'
import type { StationKey, Stations } from './store.ts'

/** The operator's lists of calls; a final `*` of an entry stands for any end. */
export interface CallLists {
  /** Nobody can register these. */
  readonly reserved: readonly string[]
  /** Their messages are dropped. */
  readonly blockedSenders: readonly string[]
}

/** Who may register, and whose messages count. */
export interface CallRules {
  isReserved(key: StationKey): boolean
  isBlocked(sender: string): boolean
  /**
   * The registry without those stations whose calls are reserved by now: they stay in it until they expire, for an entry may be a
   * mistake, but nothing is asked for or stored in their names. `get` is asked for each packet, and goes by what the last `keys` found.
   */
  readonly heard: Pick<Stations, 'get' | 'keys'>
  /** Follows other lists from now on. */
  change(lists: CallLists): void
}

interface CallRulesParts {
  readonly lists: CallLists
  /** Calls of our own, which are always reserved. */
  readonly ownCalls: readonly string[]
  readonly stations: Pick<Stations, 'get' | 'keys'>
  readonly log: Log
}

const MAX_LOGGED_STATIONS = 20

export function createCallRules({ lists, ownCalls, stations, log }: CallRulesParts): CallRules {
  let isReserved: CallList
  let isBlocked: CallList
  let silenced: ReadonlySet<StationKey> = new Set()

  function heardKeys(): readonly StationKey[] {
    const keys = [...stations.keys()]
    silenced = new Set(keys.filter(isReserved))
    return keys.filter((key) => !silenced.has(key))
  }

  function follow({ reserved, blockedSenders }: CallLists): void {
    isReserved = callList([...ownCalls, ...reserved])
    isBlocked = callList(blockedSenders)
    heardKeys()
    if (silenced.size === 0) return
    log.warn('stations-reserved', 'Registered stations have calls that are reserved: they get no messages any more.', {
      count: silenced.size,
      stations: [...silenced].slice(0, MAX_LOGGED_STATIONS),
    })
  }

  follow(lists)
  return {
    isReserved: (key) => isReserved(key),
    isBlocked: (sender) => isBlocked(sender),
    heard: {
      get: (key) => (silenced.size > 0 && silenced.has(key) ? undefined : stations.get(key)),
      keys: heardKeys,
    },
    change(changed) {
      follow(changed)
      log.info('call-lists-changed', 'stations.reserved and stations.blockedSenders are as in the file now.', {
        reserved: changed.reserved.length,
        blockedSenders: changed.blockedSenders.length,
      })
    },
  }
}
