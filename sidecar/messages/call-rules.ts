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
   * mistake, but nothing is asked for or stored in their names.
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

  function follow({ reserved, blockedSenders }: CallLists): void {
    isReserved = callList([...ownCalls, ...reserved])
    isBlocked = callList(blockedSenders)
    const silenced = [...stations.keys()].filter(isReserved)
    if (silenced.length > 0)
      log.warn(
        'stations-reserved',
        'Registered stations have calls that are reserved: they get no messages any more.',
        {
          count: silenced.length,
          stations: silenced.slice(0, MAX_LOGGED_STATIONS),
        },
      )
  }

  follow(lists)
  return {
    isReserved: (key) => isReserved(key),
    isBlocked: (sender) => isBlocked(sender),
    heard: {
      get(key) {
        const station = stations.get(key)
        return station && !isReserved(key) ? station : undefined
      },
      *keys() {
        for (const key of stations.keys()) if (!isReserved(key)) yield key
      },
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
