import { expect } from 'chai'
import fc from 'fast-check'
import { type Member, nextSteps as stepsOf } from '../../../../sidecar/aprsis/filters/rollout.ts'

/** Connections that there may be at a time. */
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

function nextSteps(members: readonly Member[], waiting: number, wanted: ReadonlySet<string>, maxConnections: number) {
  return stepsOf({ members, waiting, wanted, maxConnections, leaving: 0 })
}

describe('The rollout of a plan', () => {
  const wanted = new Set(['A', 'B'])

  it('opens what waits, as far as there are places', () => {
    const steps = nextSteps([member(1, ['A'], { retiring: true, settled: false })], 3, wanted, 3)
    expect(steps).to.deep.equal([{ kind: 'open' }, { kind: 'open' }])
  })

  it('opens nothing, and gives nothing up, while those that take leave hold the places', () => {
    const members = [member(1, ['A'], { retiring: true })]
    const rollout = { members, waiting: 1, wanted, maxConnections: 2 }
    expect(stepsOf({ ...rollout, leaving: 1 })).to.deep.equal([])
    expect(stepsOf({ ...rollout, leaving: 0 })).to.deep.equal([{ kind: 'open' }])
  })

  it('closes a connection when settled ones carry all that it carries', () => {
    const old = member(1, ['A', 'B'], { retiring: true })
    expect(nextSteps([old, member(2, ['A']), member(3, ['B'])], 0, wanted, 3)).to.deep.equal([{ kind: 'close', id: 1 }])
  })

  it('keeps a connection while what it carries is not settled elsewhere', () => {
    const old = member(1, ['A', 'B'], { retiring: true })
    expect(nextSteps([old, member(2, ['A', 'B'], { settled: false })], 0, wanted, 3)).to.deep.equal([])
    expect(nextSteps([old, member(2, ['A'])], 0, wanted, 3)).to.deep.equal([])
  })

  it('does not keep a connection for the sake of a station that is gone, nor one that is down', () => {
    expect(nextSteps([member(1, ['GONE'], { retiring: true })], 0, wanted, 3)).to.deep.equal([{ kind: 'close', id: 1 }])
    const down = member(1, ['A'], { retiring: true, up: false, settled: false })
    expect(nextSteps([down], 0, wanted, 3)).to.deep.equal([{ kind: 'close', id: 1 }])
  })

  it('closes one of two retiring connections that carry the same, not both', () => {
    const both = [member(1, ['A'], { retiring: true }), member(2, ['A'], { retiring: true })]
    expect(nextSteps(both, 0, wanted, 3)).to.deep.equal([{ kind: 'close', id: 1 }])
  })

  it('changes a filter at once when it loses nothing, else when what it loses is settled elsewhere', () => {
    const next = new Set(['B', 'C'])
    const change = { kind: 'change', id: 1, stations: next }
    expect(nextSteps([member(1, ['B'], { next })], 0, wanted, 3)).to.deep.equal([change])
    const loses = member(1, ['A', 'B'], { next })
    expect(nextSteps([loses], 0, wanted, 3)).to.deep.equal([])
    expect(nextSteps([loses, member(2, ['A'], { settled: false })], 0, wanted, 3)).to.deep.equal([])
    expect(nextSteps([loses, member(2, ['A'])], 0, wanted, 3)).to.deep.equal([change])
  })

  it('does not let two filters rely on each other while both change', () => {
    const steps = nextSteps(
      [member(1, ['A', 'B'], { next: new Set(['A']) }), member(2, ['A', 'B'], { next: new Set(['B']) })],
      0,
      wanted,
      3,
    )
    expect(steps.filter(({ kind }) => kind === 'change')).to.have.length(1)
  })

  it('gives up the connection that carries the fewest alone when nothing else makes room', () => {
    const full = [
      member(1, ['A', 'B'], { retiring: true }),
      member(2, ['C'], { retiring: true }),
      member(3, ['D'], { retiring: false }),
    ]
    const all = new Set(['A', 'B', 'C', 'D'])
    expect(nextSteps(full, 1, all, 3)).to.deep.equal([{ kind: 'sacrifice', id: 2, stations: 1 }])
    const unsettled = full.map((each) => (each.id === 3 ? { ...each, settled: false } : each))
    expect(nextSteps(unsettled, 1, all, 3)).to.deep.equal([])
  })

  it('never leaves a registered station unheard, whatever is planned when, and completes every plan', () => {
    const keys = fc.subarray(['A', 'B', 'C', 'D', 'E', 'F'])
    // Any plan that has a place for each station: the rollout must not rely on the planner.
    const action = fc.oneof(
      fc.record({
        kind: fc.constant('plan' as const),
        wanted: keys,
        // At most one less than there are places, the one for the stations that the plan forgot included.
        open: fc.array(keys, { maxLength: 1 }),
        stay: fc.array(fc.option(keys, { nil: undefined }), { maxLength: MAX - 3 }),
      }),
      fc.record({ kind: fc.constant('settle' as const), which: fc.nat({ max: 7 }) }),
      fc.record({ kind: fc.constant('confirm' as const), which: fc.nat({ max: 7 }) }),
    )
    fc.assert(
      fc.property(fc.array(action, { maxLength: 30 }), (actions) => {
        const world = new World()
        for (const each of actions) {
          if (each.kind === 'plan') world.plan(new Set(each.wanted), each.open, each.stay)
          else if (each.kind === 'confirm') world.confirm(each.which)
          else world.settle(each.which)
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
  /** What the server certainly passes on: while a change is not confirmed, what both filters have. */
  passes: ReadonlySet<string>
  next: ReadonlySet<string> | undefined
  retiring: boolean
  up: boolean
  settled: boolean
}

/** Connections whose server keeps its word; sacrifices are allowed to lose what they say. */
class World {
  #live: Live[] = []
  #queue: ReadonlySet<string>[] = []
  #wanted: ReadonlySet<string> = new Set()
  #lastId = 0
  /** Registered stations that were heard by a settled connection. */
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

  confirm(which: number): void {
    const live = this.#live[which]
    if (!live) return
    live.up = true
    live.passes = live.stations
    this.#run()
  }

  settle(which: number): void {
    const live = this.#live[which]
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
      for (let which = 0; which < MAX; which++) {
        this.confirm(which)
        this.settle(which)
        this.check()
      }
    }
    expect(this.#queue).to.deep.equal([])
    expect(this.#live.filter(({ retiring, next }) => retiring || next)).to.deep.equal([])
    expect([...this.#heard]).to.have.members([...this.#wanted])
  }

  #run(): void {
    for (;;) {
      const steps = nextSteps(this.#live, this.#queue.length, this.#wanted, MAX)
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
