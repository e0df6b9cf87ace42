import { randomInt } from 'node:crypto'
import { expect } from 'chai'
import { rowOf } from './chaos/several/row.ts'
import { SeveralChaos } from './chaos/several/several.ts'

describe('Three sidecars on one PostgreSQL', () => {
  const seed = Number(process.env.CHAOS_SEED ?? randomInt(2 ** 31))
  let chaos: SeveralChaos | undefined
  afterEach(() => chaos?.close())

  it('lose, double and skip nothing when a listener is killed and then the database', async () => {
    console.log(`      CHAOS_SEED=${seed} replays this:`)
    const scale = { seed, stations: 30, messagesPerSecond: 40, callsPerSecond: 40, restMs: 1000, seconds: 120 }
    const raging = new SeveralChaos(scale)
    chaos = raging
    await raging.start()
    await raging.endure(async () => {
      await raging.oneOf((victim) => raging.kill(victim))
      await raging.killDatabase()
    })
    const verdict = await raging.verdict()
    console.log(rowOf(verdict))
    expect(verdict.faults).to.deep.equal([])
    expect(verdict).to.include({ kills: 1, databaseKills: 1 })
    expect(verdict.acks).to.be.above(verdict.sent / 2)
  }).timeout(300_000)
})
