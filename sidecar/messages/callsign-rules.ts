import { baseCallsign, canonicalKey, hasRoomForSsid } from '../aprs/station.ts'
import type { Log } from '../log.ts'
import type { StationKey, Stations } from './store.ts'

/** The operator's lists of callsigns. A final `*` in an entry matches any ending. */
export interface CallsignLists {
  /** Callsigns under which no station can register. */
  readonly reserved: readonly string[]
  /** Messages from these senders are dropped. */
  readonly blockedSenders: readonly string[]
}

/** Decides which stations may register, and which senders' messages are accepted. */
export interface CallsignRules {
  isReserved(key: StationKey): boolean
  isBlocked(sender: string): boolean
  /**
   * The registered stations, except those with a reserved callsign. If a callsign is reserved later, perhaps by
   * mistake, its station stays registered, but its messages are neither requested nor stored. For speed, `get` uses the
   * reserved stations of the last call of `keys`.
   */
  readonly activeStations: Pick<Stations, 'get' | 'keys' | 'besides'>
  /** Returns the names for the APRS-IS filter: {@link activeStations}, and `CALL*` for devices that want all SSIDs. */
  filterNames(): readonly string[]
  /** Replaces the operator's lists of callsigns. */
  setLists(lists: CallsignLists): void
}

interface CallsignRulesParts {
  readonly lists: CallsignLists
  /** The callsigns that the sidecar uses to log in to APRS-IS. They are always reserved. */
  readonly loginCallsigns: readonly string[]
  readonly stations: Pick<Stations, 'get' | 'keys' | 'besides' | 'anySsidKeys'>
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

  function besides(addressee: StationKey): readonly StationKey[] {
    const candidates = stations.besides(addressee)
    if (candidates.length === 0) return candidates
    // A reserved callsign belongs to a service or to the sidecar itself. So no other station gets its messages.
    return isReserved(addressee) ? [] : candidates.filter((key) => !silenced.has(key))
  }

  function filterNames(): readonly string[] {
    const keys = heardKeys()
    const callsigns = stations
      .anySsidKeys()
      .filter((key) => !silenced.has(key))
      .map(baseCallsign)
    return [...keys, ...new Set(callsigns.filter(hasRoomForSsid).map((callsign) => `${callsign}*`))]
  }

  function apply({ reserved, blockedSenders }: CallsignLists): void {
    isReserved = callsignMatcher([...ownCalls, ...reserved])
    isBlocked = callsignMatcher(blockedSenders)
    heardKeys()
    if (silenced.size === 0) return
    log.warn(
      'stations-reserved',
      'Callsigns of registered stations are reserved now, so these stations get no messages. If this is a mistake, correct stations.reserved.',
      {
        count: silenced.size,
        stations: [...silenced].slice(0, MAX_LOGGED_STATIONS),
      },
    )
  }

  apply(lists)
  return {
    isReserved: (key) => isReserved(key),
    isBlocked: (sender) => isBlocked(sender),
    activeStations: {
      get: (key) => (silenced.size > 0 && silenced.has(key) ? undefined : stations.get(key)),
      keys: heardKeys,
      besides,
    },
    filterNames,
    setLists(changed) {
      apply(changed)
      log.info('call-lists-changed', 'Applied stations.reserved and stations.blockedSenders from the configuration.', {
        reserved: changed.reserved.length,
        blockedSenders: changed.blockedSenders.length,
      })
    },
  }
}

/** A function that returns whether a callsign matches a list. */
type CallsignMatcher = (callsign: string) => boolean

/**
 * Creates a matcher for a list of callsigns of any length. Ignores case and an SSID of 0; a final `*` matches any
 * ending.
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
    const group = beginnings.get(beginning.length) ?? new Set()
    beginnings.set(beginning.length, group.add(beginning))
  }
  if (entries.length === 0) return () => false
  return (callsign) => {
    if (whole.has(canonicalKey(callsign))) return true
    const upper = callsign.toUpperCase()
    for (const [length, group] of beginnings) if (group.has(upper.slice(0, length))) return true
    return false
  }
}
