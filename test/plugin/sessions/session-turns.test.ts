import { expect } from 'chai'
import fc from 'fast-check'
import { createSessionTurns } from '../../../plugin/sessions/session-turns.ts'

describe('turns of questions', () => {
  let turns: ReturnType<typeof createSessionTurns>
  let begun: string[]
  beforeEach(() => {
    turns = createSessionTurns()
    begun = []
  })

  /** Asks for so many turns; those that came are in `begun`. */
  const take = (domainKey: string, count = 1) =>
    Promise.all(
      Array.from({ length: count }, async () => {
        const isNext = await turns.take(domainKey)
        if (isNext) begun.push(domainKey)
        return isNext
      }),
    )
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  const begunOf = (domainKey: string) => begun.filter((one) => one === domainKey).length

  it('are eight of one domain at once, and one more for each that is over', async () => {
    void take('a', 20)
    await settled()
    expect(begun).to.have.length(8)
    turns.done('a')
    turns.done('a')
    await settled()
    expect(begun).to.have.length(10)
  })

  it('are never refused to a domain that has none, however many others take theirs for long', async () => {
    const others = Array.from({ length: 300 }, (_, at) => `hung-${at}`)
    for (const domainKey of others) void take(domainKey, 8)
    void take('late', 8)
    await settled()
    expect(begunOf('late')).to.equal(1)
    for (const domainKey of others) expect(begunOf(domainKey), domainKey).to.be.within(1, 8)
    // One of each, and 56 that all share.
    expect(begun).to.have.length(301 + 56)
    for (let more = 2; more <= 8; more += 1) {
      turns.done('late')
      await settled()
      expect(begunOf('late')).to.equal(more)
    }
  })

  it('that all share go to one domain after the other', async () => {
    for (const domainKey of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) void take(domainKey, 8)
    for (const domainKey of ['long', 'short']) void take(domainKey, 9)
    await settled()
    const before = begun.length
    for (let over = 0; over < 6; over += 1) turns.done('a')
    await settled()
    expect(begun.slice(before)).to.deep.equal(['long', 'short', 'long', 'short', 'long', 'short'])
  })

  it('are waited for by a thousand of one domain, whatever waits in another', async () => {
    const many = take('a', 1_500)
    void take('b', 9)
    await settled()
    expect(begun).to.have.length(16)
    for (let over = 0; over < 1_008; over += 1) turns.done('a')
    const outcomes = await many
    expect(outcomes.filter((isNext) => !isNext)).to.have.length(1_500 - 1_008)
    expect(outcomes.slice(0, 1_008).every((isNext) => isNext)).to.equal(true)
  })

  it('are over for everybody once they are closed', async () => {
    const some = take('a', 20)
    turns.close()
    expect((await some).filter((isNext) => isNext)).to.have.length(8)
    expect(await take('b')).to.deep.equal([false])
  })

  it('come to everybody who waits, within the bounds, in whatever order they end', async () => {
    const step = fc.record({ domainKey: fc.nat(20).map(String), isOver: fc.boolean() })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 400 }), async (steps) => {
        const tried = createSessionTurns()
        const underWay = new Map<string, number>()
        let waiting = 0
        const change = (domainKey: string, by: number) => underWay.set(domainKey, (underWay.get(domainKey) ?? 0) + by)
        const end = async (domainKey: string) => {
          change(domainKey, -1)
          tried.done(domainKey)
          await Promise.resolve()
        }
        for (const { domainKey, isOver } of steps) {
          if (isOver && (underWay.get(domainKey) ?? 0) > 0) await end(domainKey)
          else if (!isOver) {
            waiting += 1
            void tried.take(domainKey).then(() => {
              waiting -= 1
              change(domainKey, 1)
            })
          }
          await Promise.resolve()
          const counts = [...underWay.values()]
          expect(Math.max(0, ...counts)).to.be.at.most(8)
          expect(counts.reduce((sum, count) => sum + Math.max(0, count - 1), 0)).to.be.at.most(56)
        }
        for (let left = true; left; ) {
          left = false
          for (const [domainKey, count] of underWay) {
            if (count === 0) continue
            left = true
            await end(domainKey)
          }
        }
        expect(waiting).to.equal(0)
      }),
    )
  })
})
