import type { StationKey } from '../../messages/store.ts'
import { emptyFilterBytes, type FilterForm, filterBytes, IN_PLACE_BYTES, stationBytes } from '../protocol/filter.ts'
import { LOGIN_FILTER_BYTES } from '../protocol/login.ts'

/** A connection as the plan sees it. */
export interface Carrier {
  readonly id: number
  /** What its filter asks for, stations that are no longer registered included. */
  readonly stations: ReadonlySet<StationKey>
  /** It cannot stay, whatever it carries: its filter was never confirmed, or its call belongs to a station. */
  readonly mustGo: boolean
}

/** Which connections there shall be. What the plan does not name stays as it is. */
export interface Plan {
  /** Filters to change on running connections, by id. */
  readonly change: ReadonlyMap<number, ReadonlySet<StationKey>>
  /** Stations of each connection to open. */
  readonly open: readonly ReadonlySet<StationKey>[]
  /** Connections to close, once others carry what they carry. */
  readonly retire: ReadonlySet<number>
  /** As few connections and as narrow filters as can be; else planning again with `compact` improves on it. */
  readonly tight: boolean
  /** Stations for which there is no room. */
  readonly leftOut: readonly StationKey[]
}

export interface PlanLimits extends FilterForm {
  readonly maxConnections: number
}

interface Bin {
  readonly carrier: Carrier | undefined
  /** The carrier's own set where nothing of it is missing: most of them stay as they are. */
  readonly stations: ReadonlySet<StationKey>
  readonly bytes: number
}

/** What a bin is to get on top; `bytes` with it. */
interface Filling {
  readonly bin: Bin
  readonly added: StationKey[]
  bytes: number
}

/** Each carrier with those stations that no newer one carries; and the stations that none does, in order. */
interface Shares {
  readonly bins: readonly (Bin & { readonly carrier: Carrier })[]
  readonly homeless: readonly StationKey[]
}

/**
 * Spreads the stations over connections. A filter of up to {@link IN_PLACE_BYTES} can be changed on a running
 * connection, a longer one only by logging in anew, which costs up to 8 KB. So a change that would need that goes to a
 * small connection beside the big ones, and stations that are gone stay in big filters, until that one is full or
 * `compact` asks for tidiness.
 *
 * `carriers`: newest first. Where two carry a station, the newer keeps it.
 */
export function planConnections(
  wanted: ReadonlySet<StationKey>,
  carriers: readonly Carrier[],
  limits: PlanLimits,
  compact: boolean,
): Plan {
  const shares = shareOut(wanted, carriers, limits)
  const tight = toPlan(tightBins(shares, limits), carriers, limits)
  if (compact || !needsNewLogin(tight)) return tight
  return lazyPlan(shares, carriers, limits) ?? tight
}

function needsNewLogin(plan: Plan): boolean {
  return plan.open.length > 0 && plan.retire.size > 0
}

function shareOut(wanted: ReadonlySet<StationKey>, carriers: readonly Carrier[], form: FilterForm): Shares {
  const homeless = new Set(wanted)
  const bins = carriers.map((carrier) => {
    const own: StationKey[] = []
    for (const station of carrier.stations) if (homeless.delete(station)) own.push(station)
    const stations = own.length === carrier.stations.size ? carrier.stations : new Set(own)
    return { carrier, stations, bytes: filterBytes(own, form) }
  })
  return { bins, homeless: [...homeless].sort() }
}

function tightBins({ bins: shared, homeless }: Shares, limits: PlanLimits): { bins: Bin[]; leftOut: StationKey[] } {
  const byBytes = shared.toSorted((a, b) => b.bytes - a.bytes)
  const fewest = fewestConnections({ bins: shared, homeless }, limits)
  const fillings = byBytes.slice(0, fewest).map(fillingOf)
  const loose = [...byBytes.slice(fewest).flatMap(({ stations }) => [...stations]), ...homeless]
  const leftOut: StationKey[] = []
  // The emptiest is filled first: then the fullest need no new login.
  let open = fillings.toReversed()
  for (const station of loose) {
    const bytes = stationBytes(station, limits)
    let filling = open.find((candidate) => candidate.bytes + bytes <= LOGIN_FILTER_BYTES)
    if (!filling && fillings.length < limits.maxConnections) {
      filling = fillingOf({ carrier: undefined, stations: new Set(), bytes: emptyFilterBytes(limits) })
      fillings.push(filling)
      open = [filling]
    }
    if (!filling) {
      leftOut.push(station)
      continue
    }
    filling.added.push(station)
    filling.bytes += bytes
  }
  const bins = fillings.map(filled)
  // The one connection that there is without stations keeps us logged in.
  if (bins.length === 0) bins.push({ carrier: undefined, stations: new Set(), bytes: 0 })
  return { bins, leftOut }
}

function fillingOf(bin: Bin): Filling {
  return { bin, added: [], bytes: bin.bytes }
}

function filled({ bin, added, bytes }: Filling): Bin {
  return added.length === 0 ? bin : { ...bin, stations: new Set([...bin.stations, ...added]), bytes }
}

function fewestConnections({ bins, homeless }: Shares, limits: PlanLimits): number {
  const empty = emptyFilterBytes(limits)
  const carried = bins.reduce((sum, { bytes }) => sum + bytes - empty, 0)
  const fewest = Math.ceil((carried + filterBytes(homeless, limits) - empty) / (LOGIN_FILTER_BYTES - empty))
  return Math.min(limits.maxConnections, Math.max(1, fewest))
}

/** Big filters stay as they are; everything else goes to one small connection. Undefined when that is too small. */
function lazyPlan({ bins, homeless }: Shares, carriers: readonly Carrier[], limits: PlanLimits): Plan | undefined {
  const big = bins.filter((bin) => bin.bytes > IN_PLACE_BYTES)
  const rest = bins.filter((bin) => bin.bytes <= IN_PLACE_BYTES).toSorted((a, b) => b.bytes - a.bytes)
  const stations = new Set([...rest.flatMap((bin) => [...bin.stations]), ...homeless])
  const bytes = filterBytes(stations, limits)
  if (bytes > IN_PLACE_BYTES || big.length >= limits.maxConnections) return undefined
  const kept = big.map(({ carrier, bytes }) => ({ carrier, stations: carrier.stations, bytes }))
  const small: Bin[] = stations.size === 0 && big.length > 0 ? [] : [{ carrier: rest[0]?.carrier, stations, bytes }]
  return { ...toPlan({ bins: [...kept, ...small], leftOut: [] }, carriers, limits), tight: false }
}

function toPlan(
  { bins, leftOut }: { bins: readonly Bin[]; leftOut: readonly StationKey[] },
  carriers: readonly Carrier[],
  limits: PlanLimits,
): Plan {
  const change = new Map<number, ReadonlySet<StationKey>>()
  const open: ReadonlySet<StationKey>[] = []
  const staying = new Set<number>()
  for (const { carrier, stations } of bins) {
    const unchanged = carrier && isSameSet(carrier.stations, stations)
    if (!carrier || carrier.mustGo || !(unchanged || filterBytes(stations, limits) <= IN_PLACE_BYTES)) {
      open.push(stations)
      continue
    }
    staying.add(carrier.id)
    if (!unchanged) change.set(carrier.id, stations)
  }
  const retire = new Set(carriers.map(({ id }) => id).filter((id) => !staying.has(id)))
  return { change, open, retire, tight: true, leftOut }
}

/** Whether both hold the same stations. */
export function isSameSet(a: ReadonlySet<StationKey>, b: ReadonlySet<StationKey>): boolean {
  if (a === b) return true
  if (a.size !== b.size) return false
  for (const station of a) if (!b.has(station)) return false
  return true
}
