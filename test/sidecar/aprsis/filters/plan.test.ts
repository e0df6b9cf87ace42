import { expect } from 'chai'
import fc from 'fast-check'
import { type Carrier, isSameSet, type Plan, planConnections } from '../../../../sidecar/aprsis/filters/plan.ts'
import { filterBytes, IN_PLACE_BYTES } from '../../../../sidecar/aprsis/protocol/filter.ts'
import { LOGIN_FILTER_BYTES } from '../../../../sidecar/aprsis/protocol/login.ts'
import { stationKeys } from '../link-harness.ts'

const limits = { maxConnections: 15, trackOutgoing: false }
const carrier = (id: number, stations: Iterable<string>, mustGo = false): Carrier => ({
  id,
  stations: new Set(stations),
  mustGo,
})

/** Stations whose filter has exactly the length that fits a #filter line. */
const LONGEST_IN_PLACE = [...stationKeys(55), 'A1A-1']

/** Returns the stations in each connection's filter after the plan. */
function result(plan: Plan, carriers: readonly Carrier[]): ReadonlySet<string>[] {
  const staying = carriers.filter(({ id }) => !plan.retire.has(id))
  return [...staying.map(({ id, stations }) => plan.change.get(id) ?? stations), ...plan.open]
}

describe('The plan of APRS-IS connections', () => {
  // Shows: sidecar C7.6.
  it('opens only as many connections as all stations need', () => {
    const counts = [0, 1, 55, 56, 882, 883, 900, 5000].map((count) => {
      const plan = planConnections(new Set(stationKeys(count)), [], limits, false)
      expect(plan).to.include({ tight: true })
      expect(plan.leftOut).to.deep.equal([])
      return plan.open.length
    })
    expect(counts).to.deep.equal([1, 1, 1, 1, 1, 2, 2, 6])
  })

  it('changes a filter in place if the new one fits a #filter line', () => {
    const plan = planConnections(new Set(stationKeys(55)), [carrier(1, stationKeys(54))], limits, false)
    expect(plan.change.get(1)?.size).to.equal(55)
    expect(plan).to.deep.include({ open: [], retire: new Set(), tight: true })
    const longest = planConnections(new Set(LONGEST_IN_PLACE), [carrier(1, stationKeys(55))], limits, false)
    expect(longest.change).to.deep.equal(new Map([[1, new Set(LONGEST_IN_PLACE)]]))
    expect(longest).to.deep.include({ open: [], retire: new Set() })
  })

  it('replaces a connection if its new filter does not fit a #filter line', () => {
    const plan = planConnections(new Set(stationKeys(56)), [carrier(1, stationKeys(55))], limits, false)
    expect(plan.open.map(({ size }) => size)).to.deep.equal([56])
    expect(plan).to.deep.include({ change: new Map(), retire: new Set([1]), tight: true })
  })

  // Shows: sidecar C2.6.
  it('if few stations remain, keeps one connection and changes its filter', () => {
    const carriers = [carrier(2, stationKeys(20, 800)), carrier(1, stationKeys(800))]
    const plan = planConnections(new Set(stationKeys(55)), carriers, limits, false)
    expect(plan.change).to.deep.equal(new Map([[1, new Set(stationKeys(55))]]))
    expect(plan).to.deep.include({ open: [], retire: new Set([2]), tight: true })
  })

  it('adds new stations to a small filter, and leaves large filters unchanged', () => {
    const big = carrier(1, stationKeys(800))
    const opened = planConnections(new Set(stationKeys(801)), [big], limits, false)
    expect(opened.open).to.deep.equal([new Set(stationKeys(1, 800))])
    expect(opened).to.deep.include({ change: new Map(), retire: new Set(), tight: false })
    const small = carrier(2, stationKeys(1, 800))
    const changed = planConnections(new Set(stationKeys(855)), [small, big], limits, false)
    expect(changed.change).to.deep.equal(new Map([[2, new Set(stationKeys(55, 800))]]))
    expect(changed).to.deep.include({ open: [], retire: new Set(), tight: false })
  })

  it('keeps a small filter that just fits a #filter line beside a large filter', () => {
    const carriers = [carrier(2, LONGEST_IN_PLACE), carrier(1, stationKeys(800, 100))]
    const wanted = new Set([...LONGEST_IN_PLACE, ...stationKeys(799, 101)])
    expect(filterBytes(LONGEST_IN_PLACE, limits)).to.equal(IN_PLACE_BYTES)
    const plan = planConnections(wanted, carriers, { ...limits, maxConnections: 2 }, false)
    expect(plan).to.deep.include({ change: new Map(), open: [], retire: new Set(), tight: false })
  })

  it('merges small filters into the longest of them beside a large filter', () => {
    const carriers = [carrier(3, stationKeys(5, 830)), carrier(2, stationKeys(30, 800)), carrier(1, stationKeys(800))]
    const plan = planConnections(new Set(stationKeys(835)), carriers, limits, false)
    expect(plan.change).to.deep.equal(new Map([[2, new Set(stationKeys(35, 800))]]))
    expect(plan).to.deep.include({ open: [], retire: new Set([3]), tight: false })
  })

  it('replaces a large filter if a small filter beside it would exceed maxConnections', () => {
    const single = { ...limits, maxConnections: 1 }
    const plan = planConnections(new Set(stationKeys(801)), [carrier(1, stationKeys(800))], single, false)
    expect(plan.open).to.deep.equal([new Set(stationKeys(801))])
    expect(plan).to.deep.include({ change: new Map(), retire: new Set([1]) })
  })

  it('leaves full filters unchanged if many stations are added', () => {
    const carriers = [carrier(2, stationKeys(882, 882)), carrier(1, stationKeys(882))]
    const plan = planConnections(new Set(stationKeys(2646)), carriers, limits, false)
    expect(plan.open).to.deep.equal([new Set(stationKeys(882, 1764))])
    expect(plan).to.deep.include({ change: new Map(), retire: new Set() })
  })

  it('opens the same filters in whichever order the stations are given', () => {
    const [forwards, backwards] = [stationKeys(900), stationKeys(900).reverse()].map((keys) =>
      planConnections(new Set(keys), [], limits, false).open.map((filter) => [...filter].sort()),
    )
    expect(backwards).to.deep.equal(forwards)
  })

  it('merges a filter too long for a #filter line with the shortest large filter', () => {
    const carriers = [
      carrier(3, stationKeys(55, 1500)),
      carrier(2, stationKeys(630, 870)),
      carrier(1, stationKeys(870)),
    ]
    const plan = planConnections(new Set(stationKeys(1556)), carriers, limits, false)
    expect(plan.open).to.deep.equal([new Set(stationKeys(686, 870))])
    expect(plan).to.deep.include({ change: new Map(), retire: new Set([3, 2]), tight: true })
  })

  it('keeps unregistered stations in a large filter unless `compact` is true', () => {
    const wanted = new Set(stationKeys(799, 1))
    const lazy = planConnections(wanted, [carrier(1, stationKeys(800))], limits, false)
    expect(lazy).to.deep.include({ change: new Map(), open: [], retire: new Set(), tight: false })
    const compact = planConnections(wanted, [carrier(1, stationKeys(800))], limits, true)
    expect(compact).to.deep.include({ open: [wanted], retire: new Set([1]), tight: true })
  })

  it('replaces a connection that must close, and keeps the other connections', () => {
    const carriers = [carrier(2, stationKeys(600, 800)), carrier(1, stationKeys(800), true)]
    const plan = planConnections(new Set(stationKeys(1399)), carriers, limits, false)
    expect(plan.open).to.deep.equal([new Set(stationKeys(800))])
    expect(plan).to.deep.include({ change: new Map(), retire: new Set([1]) })
  })

  it('keeps one connection to APRS-IS even if there are no stations', () => {
    const plan = planConnections(new Set(), [carrier(1, ['AA1AA'], true)], limits, false)
    expect(plan.open).to.deep.equal([new Set()])
    expect(planConnections(new Set(), [], limits, false).open).to.deep.equal([new Set()])
    expect(planConnections(new Set(), [carrier(1, [])], limits, false)).to.deep.include({ open: [], retire: new Set() })
  })

  it('if all filters are full, the connection plan lists new stations as left out', () => {
    const carriers = [carrier(1, stationKeys(885))]
    const plan = planConnections(new Set(stationKeys(890)), carriers, { ...limits, maxConnections: 1 }, false)
    expect(plan.leftOut.length).to.be.within(1, 10)
    expect(stationKeys(885)).not.to.include.members([...plan.leftOut])
  })

  it('two sets of stations are the same if they have the same stations in any order', () => {
    expect(isSameSet(new Set(['A', 'B']), new Set(['B', 'A']))).to.equal(true)
    for (const other of [[], ['A'], ['A', 'C'], ['A', 'B', 'C']])
      expect(isSameSet(new Set(['A', 'B']), new Set(other))).to.equal(false)
  })

  const stations = fc.uniqueArray(fc.integer({ min: 0, max: 2999 }), { maxLength: 2500 }).map((numbers) => {
    return numbers.flatMap((number) => stationKeys(1, number))
  })
  const situation = fc.record({
    wanted: stations,
    carried: fc.array(fc.tuple(stations, fc.boolean()), { maxLength: 4 }),
    trackOutgoing: fc.boolean(),
    compact: fc.boolean(),
  })

  // Shows: sidecar C7.6.
  it('any connection plan has all stations in its filters and exceeds no limit', () => {
    fc.assert(
      fc.property(situation, ({ wanted, carried, trackOutgoing, compact }) => {
        const form = { ...limits, trackOutgoing }
        const carriers = carried.map(([keys, mustGo], index) => {
          const fitting = keys.slice(0, trackOutgoing ? 400 : 800)
          return carrier(index, fitting, mustGo)
        })
        const plan = planConnections(new Set(wanted), carriers, form, compact)
        const later = result(plan, carriers)
        expect(plan.leftOut).to.deep.equal([])
        for (const key of wanted) expect(later.some((set) => set.has(key))).to.equal(true)
        for (const set of later) expect(filterBytes(set, form)).to.be.at.most(LOGIN_FILTER_BYTES)
        for (const set of plan.change.values()) expect(filterBytes(set, form)).to.be.at.most(IN_PLACE_BYTES)
        for (const { id, mustGo } of carriers) expect(mustGo && !plan.retire.has(id)).to.equal(false)
        expect(later.length).to.be.within(1, limits.maxConnections)
        if (!plan.tight) return
        expect(later.reduce((sum, set) => sum + set.size, 0)).to.equal(wanted.length)
        // Allows one more than the bytes need, because callsigns of different length leave gaps.
        const fewest = Math.ceil(filterBytes(wanted, form) / LOGIN_FILTER_BYTES)
        expect(later.length).to.be.at.most(fewest + 1)
      }),
      { numRuns: 60 },
    )
  })

  it('a second connection plan for unchanged stations changes nothing', () => {
    fc.assert(
      fc.property(stations, fc.boolean(), (wanted, trackOutgoing) => {
        const form = { ...limits, trackOutgoing }
        const first = planConnections(new Set(wanted), [], form, false)
        const carriers = first.open.map((keys, index) => carrier(index, keys))
        const second = planConnections(new Set(wanted), carriers, form, true)
        expect(second).to.deep.include({ change: new Map(), open: [], retire: new Set() })
      }),
      { numRuns: 40 },
    )
  })
})
