import type { StationKey } from '../messages/store.ts'
import { emptyFilterBytes, type FilterForm, filterBytes, IN_PLACE_BYTES, stationBytes } from './filter.ts'
import { LOGIN_FILTER_BYTES } from './login.ts'

/** A connection as the plan sees it. */
export interface Carrier {
  readonly id: number
  /** What its filter asks for, stations that are no longer registered included. */
  readonly stations: ReadonlySet<StationKey>
  /** It cannot stay, whatever it carries: its filter is unconfirmed, or its call belongs to a station. */
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
  readonly stations: Set<StationKey>
  bytes: number
}

/**
 * Spreads the stations over connections. A filter of up to {@link IN_PLACE_BYTES} can be changed on a running connection, a
 * longer one only by logging in anew, which costs up to 8 KB. So a change that would need that goes to a small connection beside
 * the big ones, and stations that are gone stay in big filters, until that one is full or `compact` asks for tidiness.
 *
 * `carriers`: newest first. Where two carry a station, the newer keeps it.
 */
export function planConnections(
  wanted: ReadonlySet<StationKey>,
  carriers: readonly Carrier[],
  limits: PlanLimits,
  compact: boolean,
): Plan {
  const tight = toPlan(tightBins(wanted, carriers, limits), carriers, limits)
  if (compact || !needsNewLogin(tight)) return tight
  return lazyPlan(wanted, carriers, limits) ?? tight
}

function needsNewLogin(plan: Plan): boolean {
  return plan.open.length > 0 && plan.retire.size > 0
}

/** Each carrier with those stations that no newer one carries; and the stations that none does. */
function shareOut(
  wanted: ReadonlySet<StationKey>,
  carriers: readonly Carrier[],
  form: FilterForm,
): { bins: (Bin & { carrier: Carrier })[]; homeless: StationKey[] } {
  const homeless = new Set(wanted)
  const bins = carriers.map((carrier) => {
    const stations = new Set([...carrier.stations].filter((station) => homeless.delete(station)))
    return { carrier, stations, bytes: filterBytes(stations, form) }
  })
  return { bins, homeless: [...homeless].sort() }
}

function tightBins(
  wanted: ReadonlySet<StationKey>,
  carriers: readonly Carrier[],
  limits: PlanLimits,
): { bins: Bin[]; leftOut: StationKey[] } {
  const shared = shareOut(wanted, carriers, limits)
  const byBytes = shared.bins.toSorted((a, b) => b.bytes - a.bytes)
  const fewest = fewestConnections(wanted, limits)
  const bins: Bin[] = byBytes.slice(0, fewest)
  const loose = [...byBytes.slice(fewest).flatMap(({ stations }) => [...stations]), ...shared.homeless]
  const leftOut: StationKey[] = []
  // The emptiest is filled first: then the fullest need no new login.
  let open = bins.toReversed()
  for (const station of loose) {
    const bytes = stationBytes(station, limits)
    let bin = open.find((candidate) => candidate.bytes + bytes <= LOGIN_FILTER_BYTES)
    if (!bin && bins.length < limits.maxConnections) {
      bin = { carrier: undefined, stations: new Set(), bytes: emptyFilterBytes(limits) }
      bins.push(bin)
      open = [bin]
    }
    if (!bin) {
      leftOut.push(station)
      continue
    }
    bin.stations.add(station)
    bin.bytes += bytes
  }
  // The one connection that there is without stations keeps us logged in.
  if (bins.length === 0) bins.push({ carrier: undefined, stations: new Set(), bytes: 0 })
  return { bins, leftOut }
}

function fewestConnections(wanted: ReadonlySet<StationKey>, limits: PlanLimits): number {
  const empty = emptyFilterBytes(limits)
  const fewest = Math.ceil((filterBytes(wanted, limits) - empty) / (LOGIN_FILTER_BYTES - empty))
  return Math.min(limits.maxConnections, Math.max(1, fewest))
}

/** Big filters stay as they are; everything else goes to one small connection. Undefined when that is too small. */
function lazyPlan(wanted: ReadonlySet<StationKey>, carriers: readonly Carrier[], limits: PlanLimits): Plan | undefined {
  const { bins, homeless } = shareOut(wanted, carriers, limits)
  const big = bins.filter((bin) => bin.bytes > IN_PLACE_BYTES)
  const rest = bins.filter((bin) => bin.bytes <= IN_PLACE_BYTES).toSorted((a, b) => b.bytes - a.bytes)
  const stations = new Set([...rest.flatMap((bin) => [...bin.stations]), ...homeless])
  const bytes = filterBytes(stations, limits)
  if (bytes > IN_PLACE_BYTES || big.length >= limits.maxConnections) return undefined
  const kept = big.map(({ carrier, bytes }) => ({ carrier, stations: new Set(carrier.stations), bytes }))
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
  if (a.size !== b.size) return false
  for (const station of a) if (!b.has(station)) return false
  return true
}
