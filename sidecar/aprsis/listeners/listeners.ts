import type { Instance, Lease } from '../../messages/leases.ts'

const SLOT = 'listener/'
const CALLSIGN = 'call/'

export const slotLease = (slot: number): string => `${SLOT}${slot}`
export const callsignLease = (callsign: string): string => `${CALLSIGN}${callsign}`

/** Returns the leased callsigns, given the `names` of leases of callsigns and slots. */
export function callsignsIn(names: Iterable<string>): ReadonlySet<string> {
  return new Set([...names].filter((name) => name.startsWith(CALLSIGN)).map((name) => name.slice(CALLSIGN.length)))
}

/** An instance that listens to APRS-IS, because it has leased a listener slot. */
export interface Listener {
  /** The listener slot that the instance holds, from 0. */
  readonly slot: number
  readonly instance: string
  readonly mine: boolean
  /** The servers that the instance is logged in to, sorted by name. */
  readonly servers: readonly string[]
  /** The callsigns that the instance has leased for its logins. */
  readonly callsigns: readonly string[]
}

/** Returns the note for a listener's slot lease. {@link listenersIn} parses it. */
export function listenerNote(servers: ReadonlySet<string>): string {
  return JSON.stringify({ servers: [...servers].sort() })
}

/** Returns the listeners among the holders of `leases`, sorted by slot. */
export function listenersIn(leases: readonly Lease[], slots: number): readonly Listener[] {
  return leases
    .flatMap(({ name, instance, note, mine }) => {
      const slot = name.startsWith(SLOT) ? Number(name.slice(SLOT.length)) : Number.NaN
      if (!(slot < slots)) return []
      const names = leases.filter((lease) => lease.instance === instance).map((lease) => lease.name)
      return { slot, instance, mine, servers: serversIn(note), callsigns: [...callsignsIn(names)].sort() }
    })
    .toSorted((a, b) => a.slot - b.slot)
}

function serversIn(note: string): readonly string[] {
  const { servers } = readNote(note)
  return Array.isArray(servers) ? servers.filter((server) => typeof server === 'string') : []
}

/**
 * The JSON that an instance publishes for the other instances: its version, whether it may listen, and its listener
 * slot.
 */
export interface InstanceNote {
  readonly version: string
  /**
   * Whether the instance may listen: the value of `aprsis.listen`, or false for some minutes after the instance gave up
   * a slot because it did not reach APRS-IS.
   */
  readonly listen: boolean
  /** The listener slot that the instance holds, from 0; null while it holds none. */
  readonly listener: number | null
  /** Wall-clock time at which the instance got its slot, in milliseconds since 1970; null while it has no slot. */
  readonly sinceMs: number | null
}

export function mayListen({ note }: Pick<Instance, 'note'>): boolean {
  return readNote(note).listen === true
}

/** Whether the instance has no listener slot, but would lease one if it were free. */
export function standsBy({ note }: Pick<Instance, 'note'>): boolean {
  const { listen, listener } = readNote(note)
  return listen === true && listener === null
}

/**
 * Parses the JSON note of an instance or a lease. Another version of the sidecar may have written it, so any member may
 * be missing.
 */
export function readNote(note: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(note)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}
