import type { Instance, Lease } from '../../messages/leases.ts'

const SLOT = 'listener/'
const CALL = 'call/'

export const slotLease = (slot: number): string => `${SLOT}${slot}`
export const callsignLease = (call: string): string => `${CALL}${call}`

/** The calls in names of leases. */
export function callsignsIn(names: Iterable<string>): ReadonlySet<string> {
  return new Set([...names].filter((name) => name.startsWith(CALL)).map((name) => name.slice(CALL.length)))
}

/** An instance that listens to APRS-IS, as its leases say. */
export interface Listener {
  /** From 0. */
  readonly slot: number
  readonly instance: string
  readonly mine: boolean
  /** The calls of the servers that it is logged in to, and its own calls there. */
  readonly servers: readonly string[]
  readonly callsigns: readonly string[]
}

/** What the note of a listener's lease says; {@link listenersIn} reads it. */
export function listenerNote(servers: ReadonlySet<string>): string {
  return JSON.stringify({ servers: [...servers].sort() })
}

/** By slot. Leases of other things are left out. */
export function listenersIn(leases: readonly Lease[], slots: number): readonly Listener[] {
  return leases
    .flatMap(({ name, instance, note, mine }) => {
      const slot = name.startsWith(SLOT) ? Number(name.slice(SLOT.length)) : Number.NaN
      if (!(slot < slots)) return []
      const own = leases.filter((lease) => lease.instance === instance).map((lease) => lease.name)
      return { slot, instance, mine, servers: serversIn(note), callsigns: [...callsignsIn(own)].sort() }
    })
    .toSorted((a, b) => a.slot - b.slot)
}

function serversIn(note: string): readonly string[] {
  const { servers } = readNote(note)
  return Array.isArray(servers) ? servers.filter((server) => typeof server === 'string') : []
}

/**
 * What an instance says of itself; {@link mayListen} and {@link standsBy} read it. `sinceMs` is clock time in
 * milliseconds since 1970.
 */
export interface InstanceNote {
  readonly version: string
  /** `aprsis.listen`, and no fruitless time as a listener just now. */
  readonly listen: boolean
  /** The slot that it holds, and since when; null while it holds none. */
  readonly listener: number | null
  readonly sinceMs: number | null
}

export function mayListen({ note }: Pick<Instance, 'note'>): boolean {
  return readNote(note).listen === true
}

/** Whether it would be a listener if there were a place for it. */
export function standsBy({ note }: Pick<Instance, 'note'>): boolean {
  const { listen, listener } = readNote(note)
  return listen === true && listener === null
}

/** What a note says, which may be that of another version: nothing in it is sure to be there. */
export function readNote(note: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(note)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}
