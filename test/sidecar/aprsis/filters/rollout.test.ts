import { expect } from 'chai'
import fc from 'fast-check'
import { type Member, type Rollout, nextSteps as stepsOf } from '../../../../sidecar/aprsis/filters/rollout.ts'

/** Maximum number of connections at a time. */
const MAX = 6

const member = (id: number, stations: string[], rest: Partial<Member> = {}): Member => ({
  id,
  stations: new Set(stations),
  next: undefined,
  retiring: false,
  up: true,
  settled: true,
  ...rest,
})

const old = (stations: string[], rest: Partial<Member> = {}) => member(1, stations, { retiring: true, ...rest })

const OPEN = { kind: 'open' }
const CLOSE = { kind: 'close', id: 1 }
const NEXT = new Set(['B', 'C'])
const CHANGE = { kind: 'change', id: 1, stations: NEXT }
const LOSES = member(1, ['A', 'B'], { next: NEXT })
const FULL = [old(['A', 'B']), member(2, ['C'], { retiring: true }), member(3, ['D'])]

type Situation = readonly [members: readonly Member[], steps: readonly object[], rest?: Partial<Rollout>]
const RULES: Readonly<Record<string, readonly Situation[]>> = {
  'opens waiting connections up to maxConnections': [[[old(['A'], { settled: false })], [OPEN, OPEN], { waiting: 3 }]],
  'opens no connection while leaving ones use up maxConnections': [
    [[old(['A'])], [], { waiting: 1, maxConnections: 2, leaving: 1 }],
    [[old(['A'])], [OPEN], { waiting: 1, maxConnections: 2 }],
    [[old(['GONE']), member(2, ['A'])], [CLOSE], { waiting: 1, maxConnections: 2 }],
    [[member(1, ['A']), member(2, ['B'])], [], { waiting: 1, maxConnections: 2 }],
  ],
  'closes a retiring connection if settled ones carry all its stations': [
    [[old(['A', 'B']), member(2, ['A']), member(3, ['B'])], [CLOSE]],
  ],
  'keeps a retiring connection until settled ones carry all its stations': [
    [[old(['A', 'B']), member(2, ['A', 'B'], { settled: false })], []],
    [[old(['A', 'B']), member(2, ['A'])], []],
  ],
  'closes a retiring connection that is down or carries only removed stations': [
    [[old(['GONE'])], [CLOSE]],
    [[old(['A'], { up: false, settled: false })], [CLOSE]],
  ],
  'closes only one of two retiring connections with the same stations': [
    [[old(['A']), member(2, ['A'], { retiring: true })], [CLOSE]],
  ],
  'changes a filter only once settled connections carry the stations it drops': [
    [[member(1, ['B'], { next: NEXT })], [CHANGE]],
    [[LOSES], []],
    [[LOSES, member(2, ['A'], { settled: false })], []],
    [[LOSES, member(2, ['A'])], [CHANGE]],
  ],
  'sacrifices the connection with the fewest stations of its own to make room': [
    [FULL, [{ kind: 'sacrifice', id: 2, stations: 1 }], { waiting: 1, wanted: new Set(['A', 'B', 'C', 'D']) }],
    [
      FULL.map((each) => (each.id === 3 ? { ...each, settled: false } : each)),
      [],
      { waiting: 1, wanted: new Set(['A', 'B', 'C', 'D']) },
    ],
  ],
}

function nextSteps(members: readonly Member[], rest: Partial<Rollout> = {}) {
  return stepsOf({ members, waiting: 0, wanted: new Set(['A', 'B']), maxConnections: 3, leaving: 0, ...rest })
}

describe('The rollout of a connection plan', () => {
  for (const [name, situations] of Object.entries(RULES))
    it(name, () => {
      for (const [members, steps, rest] of situations) expect(nextSteps(members, rest)).to.deep.equal(steps)
    })

  it('changes two filters one by one if changing both at once could lose messages', () => {
    const steps = nextSteps([
      member(1, ['A', 'B'], { next: new Set(['A']) }),
      member(2, ['A', 'B'], { next: new Set(['B']) }),
    ])
    expect(steps.filter(({ kind }) => kind === 'change')).to.have.length(1)
  })

  // Shows: sidecar C7.10.
  it('any sequence of connection plans keeps every registered station in a filter', () => {
    const keys = fc.subarray(['A', 'B', 'C', 'D', 'E', 'F'])
    // Any plan with room for all stations, because the rollout must not rely on the planner.
    const action = fc.oneof(
      fc.record({
        kind: fc.constant('plan' as const),
        wanted: keys,
        // A plan has at most MAX - 1 connections, including the one for stations that the lists omit.
        open: fc.array(keys, { maxLength: 1 }),
        stay: fc.array(fc.option(keys, { nil: undefined }), { maxLength: MAX - 3 }),
      }),
      fc.record({ kind: fc.constant('settle' as const), index: fc.nat({ max: 7 }) }),
      fc.record({ kind: fc.constant('confirm' as const), index: fc.nat({ max: 7 }) }),
    )
    fc.assert(
      fc.property(fc.array(action, { maxLength: 30 }), (actions) => {
        const world = new World()
        for (const each of actions) {
          if (each.kind === 'plan') world.plan(new Set(each.wanted), each.open, each.stay)
          else if (each.kind === 'confirm') world.confirm(each.index)
          else world.settle(each.index)
          world.check()
        }
        world.finish()
      }),
      { numRuns: 200 },
    )
  })
})

interface Live {
  id: number
  stations: ReadonlySet<string>
  /**
   * Stations that the server certainly forwards. While a change is unconfirmed, these are the stations in both filters.
   */
  passes: ReadonlySet<string>
  next: ReadonlySet<string> | undefined
  retiring: boolean
  up: boolean
  settled: boolean
}

/** Simulates connections to a reliable server. Only a sacrificed connection may lose its stations. */
class World {
  #live: Live[] = []
  #queue: ReadonlySet<string>[] = []
  #wanted: ReadonlySet<string> = new Set()
  #lastId = 0
  /** Registered stations that have been in the filter of a settled connection. */
  readonly #heard = new Set<string>()

  plan(wanted: ReadonlySet<string>, open: string[][], stay: (string[] | undefined)[]): void {
    this.#wanted = wanted
    for (const key of [...this.#heard]) if (!wanted.has(key)) this.#heard.delete(key)
    const planned = new Set<string>(open.flat())
    this.#live.forEach((live, index) => {
      const next = stay[index]
      live.retiring = next === undefined
      live.next = live.retiring || !next ? undefined : new Set(next)
      for (const key of (live.retiring ? undefined : next) ?? []) planned.add(key)
    })
    const rest = [...wanted].filter((key) => !planned.has(key))
    this.#queue = [...open, ...(rest.length > 0 ? [rest] : [])].map((keys) => new Set(keys))
    this.#run()
  }

  confirm(side: number): void {
    const live = this.#live[side]
    if (!live) return
    live.up = true
    live.passes = live.stations
    this.#run()
  }

  settle(side: number): void {
    const live = this.#live[side]
    if (!live?.up || live.passes !== live.stations) return
    live.settled = true
    for (const key of live.stations) if (this.#wanted.has(key)) this.#heard.add(key)
    this.#run()
  }

  check(): void {
    const passed = new Set(this.#live.filter(({ up }) => up).flatMap(({ passes }) => [...passes]))
    expect([...passed]).to.include.members([...this.#heard])
    expect(this.#live.length).to.be.at.most(MAX)
  }

  finish(): void {
    for (let round = 0; round < 20; round++) {
      for (let side = 0; side < MAX; side++) {
        this.confirm(side)
        this.settle(side)
        this.check()
      }
    }
    expect(this.#queue).to.deep.equal([])
    expect(this.#live.filter(({ retiring, next }) => retiring || next)).to.deep.equal([])
    expect([...this.#heard]).to.have.members([...this.#wanted])
  }

  #run(): void {
    for (;;) {
      const steps = nextSteps(this.#live, { waiting: this.#queue.length, wanted: this.#wanted, maxConnections: MAX })
      for (const step of steps) {
        if (step.kind === 'open') this.#open()
        else if (step.kind === 'change') this.#change(step.id, step.stations)
        else this.#close(step.id, step.kind === 'sacrifice')
      }
      if (steps.length === 0) return
    }
  }

  #open(): void {
    const stations = this.#queue.shift() ?? new Set()
    this.#lastId += 1
    const id = this.#lastId
    this.#live.push({ id, stations, passes: new Set(), next: undefined, retiring: false, up: false, settled: false })
  }

  #change(id: number, stations: ReadonlySet<string>): void {
    const live = this.#live.find((each) => each.id === id)
    if (!live) return
    live.passes = new Set([...live.passes].filter((key) => stations.has(key)))
    live.stations = stations
    live.next = undefined
    live.settled = false
  }

  #close(id: number, sacrifice: boolean): void {
    const closed = this.#live.find((each) => each.id === id)
    this.#live = this.#live.filter((each) => each !== closed)
    if (sacrifice) for (const key of closed?.stations ?? []) this.#heard.delete(key)
  }
}
