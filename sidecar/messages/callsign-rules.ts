import { canonicalKey } from '../aprs/station.ts'
import type { Log } from '../log.ts'
import type { StationKey, Stations } from './store.ts'

/** The operator's lists of calls; a final `*` of an entry stands for any end. */
export interface CallsignLists {
  /** Nobody can register these. */
  readonly reserved: readonly string[]
  /** Their messages are dropped. */
  readonly blockedSenders: readonly string[]
}

/** Who may register, and whose messages count. */
export interface CallsignRules {
  isReserved(key: StationKey): boolean
  isBlocked(sender: string): boolean
  /**
   * The registry without those stations whose calls are reserved by now: they stay in it until they expire, for an
   * entry may be a mistake, but nothing is asked for or stored in their names. `get` is asked for each packet, and goes
   * by what the last `keys` found.
   */
  readonly activeStations: Pick<Stations, 'get' | 'keys'>
  /** Follows other lists from now on. */
  setLists(lists: CallsignLists): void
}

interface CallsignRulesParts {
  readonly lists: CallsignLists
  /** Calls of our own, which are always reserved. */
  readonly loginCallsigns: readonly string[]
  readonly stations: Pick<Stations, 'get' | 'keys'>
  readonly log: Log
}

const MAX_LOGGED_STATIONS = 20

export function createCallsignRules({
  lists,
  loginCallsigns: ownCalls,
  stations,
  log,
}: CallsignRulesParts): CallsignRules {
  let isReserved: CallsignMatcher
  let isBlocked: CallsignMatcher
  let silenced: ReadonlySet<StationKey> = new Set()

  function heardKeys(): readonly StationKey[] {
    const keys = [...stations.keys()]
    silenced = new Set(keys.filter(isReserved))
    return keys.filter((key) => !silenced.has(key))
  }

  function follow({ reserved, blockedSenders }: CallsignLists): void {
    isReserved = callsignMatcher([...ownCalls, ...reserved])
    isBlocked = callsignMatcher(blockedSenders)
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
    activeStations: {
      get: (key) => (silenced.size > 0 && silenced.has(key) ? undefined : stations.get(key)),
      keys: heardKeys,
    },
    setLists(changed) {
      follow(changed)
      log.info('call-lists-changed', 'stations.reserved and stations.blockedSenders are as in the file now.', {
        reserved: changed.reserved.length,
        blockedSenders: changed.blockedSenders.length,
      })
    },
  }
}

/** Whether a call is on a list. */
type CallsignMatcher = (call: string) => boolean

/**
 * A list of calls: each as it is, letter case and an SSID of 0 aside, or with a final `*`, which stands for any end. A
 * look-up takes the same time however long the list is.
 */
export function callsignMatcher(entries: readonly string[]): CallsignMatcher {
  const whole = new Set<string>()
  const beginnings = new Map<number, Set<string>>()
  for (const entry of entries) {
    if (!entry.endsWith('*')) {
      whole.add(canonicalKey(entry))
      continue
    }
    const beginning = entry.slice(0, -1).toUpperCase()
    const alike = beginnings.get(beginning.length) ?? new Set()
    beginnings.set(beginning.length, alike.add(beginning))
  }
  if (entries.length === 0) return () => false
  return (call) => {
    if (whole.has(canonicalKey(call))) return true
    const upper = call.toUpperCase()
    for (const [length, alike] of beginnings) if (alike.has(upper.slice(0, length))) return true
    return false
  }
}
