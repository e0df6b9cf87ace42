import type { StationKey } from '../../messages/store.ts'
import { emptyFilterBytes, type FilterForm, filterBytes, IN_PLACE_BYTES, stationBytes } from '../protocol/filter.ts'
import { LOGIN_FILTER_BYTES } from '../protocol/login.ts'

/** An existing connection, with the data that {@link planConnections} needs. */
export interface Carrier {
  readonly id: number
  /** The stations in the connection's filter. Some of them may no longer be registered. */
  readonly stations: ReadonlySet<StationKey>
  /**
   * Whether the connection must be replaced, because its filter was never confirmed or its callsign belongs to a
   * station.
   */
  readonly mustGo: boolean
}

/**
 * The changes to make to the connections. A connection that appears in neither `change` nor `retire` stays unchanged.
 */
export interface Plan {
  /** The filters to change: for each connection id, the stations of the connection's new filter. */
  readonly change: ReadonlyMap<number, ReadonlySet<StationKey>>
  /** The stations of each connection to open. */
  readonly open: readonly ReadonlySet<StationKey>[]
  /** Ids of the connections to close, each once other connections have its stations. */
  readonly retire: ReadonlySet<number>
  /** Whether the plan has as few connections as possible. If not, a later plan with `compact` has fewer. */
  readonly tight: boolean
  /** Stations for which no filter has room. */
  readonly leftOut: readonly StationKey[]
}

export interface PlanLimits extends FilterForm {
  readonly maxConnections: number
}

/** A planned connection: an existing one (`carrier`), or a new one. `bytes`: the length of its filter. */
interface Bin {
  readonly carrier: Carrier | undefined
  /** The stations of the connection's filter. An unchanged filter has the same set object as `carrier.stations`. */
  readonly stations: ReadonlySet<StationKey>
  readonly bytes: number
}

/** A filter and the stations to add to it. `bytes`: the length of the filter with the added stations. */
interface Filling {
  readonly bin: Bin
  readonly added: StationKey[]
  bytes: number
}

/** The registered stations by connection: each belongs to the newest connection whose filter has it. */
interface Shares {
  readonly bins: readonly (Bin & { readonly carrier: Carrier })[]
  /** The stations that are in no filter, sorted. */
  readonly homeless: readonly StationKey[]
}

/**
 * Plans which connection has which stations in its filter. A filter up to {@link IN_PLACE_BYTES} can change in place; a
 * longer one needs a new login of up to 8 KB. So new stations go to one small filter, and removed ones stay in the big
 * ones. When the small one is full or `compact` is set, all are rebuilt.
 *
 * @param carriers newest first; if two have the same station, the newer one keeps it
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
    const assigned: StationKey[] = []
    for (const station of carrier.stations) if (homeless.delete(station)) assigned.push(station)
    const stations = assigned.length === carrier.stations.size ? carrier.stations : new Set(assigned)
    return { carrier, stations, bytes: filterBytes(assigned, form) }
  })
  return { bins, homeless: [...homeless].sort() }
}

function tightBins({ bins: shared, homeless }: Shares, limits: PlanLimits): { bins: Bin[]; leftOut: StationKey[] } {
  const byBytes = shared.toSorted((a, b) => b.bytes - a.bytes)
  const fewest = fewestConnections({ bins: shared, homeless }, limits)
  const fillings = byBytes.slice(0, fewest).map(fillingOf)
  const loose = [...byBytes.slice(fewest).flatMap(({ stations }) => [...stations]), ...homeless]
  const leftOut: StationKey[] = []
  // Adds stations to the shortest filters first, so that the connections with the longest filters need no new login.
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
  // Without stations, one connection keeps the sidecar logged in.
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

/**
 * Keeps big filters unchanged, and puts all other stations into one connection with a small filter. Returns undefined
 * if that filter has no room for them.
 */
function lazyPlan({ bins, homeless }: Shares, carriers: readonly Carrier[], limits: PlanLimits): Plan | undefined {
  const big = bins.filter((bin) => bin.bytes > IN_PLACE_BYTES)
  const rest = bins.filter((bin) => bin.bytes <= IN_PLACE_BYTES).toSorted((a, b) => b.bytes - a.bytes)
  const stations = new Set([...rest.flatMap((bin) => [...bin.stations]), ...homeless])
  const bytes = filterBytes(stations, limits)
  if (bytes > IN_PLACE_BYTES || big.length >= limits.maxConnections) return undefined
  const unchanged = big.map(({ carrier, bytes }) => ({ carrier, stations: carrier.stations, bytes }))
  const small: Bin[] = stations.size === 0 && big.length > 0 ? [] : [{ carrier: rest[0]?.carrier, stations, bytes }]
  return { ...toPlan({ bins: [...unchanged, ...small], leftOut: [] }, carriers, limits), tight: false }
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

/** Whether both sets contain the same stations. */
export function isSameSet(a: ReadonlySet<StationKey>, b: ReadonlySet<StationKey>): boolean {
  if (a === b) return true
  if (a.size !== b.size) return false
  for (const station of a) if (!b.has(station)) return false
  return true
}
