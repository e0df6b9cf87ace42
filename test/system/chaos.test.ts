import { randomInt } from 'node:crypto'
import { Chaos } from './chaos/chaos.ts'
import { planOf } from './chaos/plan.ts'

/** `npm run chaos` goes on for longer. */
const RAGE_MS = 15_000

describe('The sidecar amid chaos', () => {
  const seed = Number(process.env.CHAOS_SEED ?? randomInt(2 ** 31))
  let chaos: Chaos | undefined
  afterEach(() => chaos?.close())

  it('keeps every confirmed message once and in order, skips none, pushes each, and converges', async () => {
    console.log(`      CHAOS_SEED=${seed} replays this:`)
    chaos = new Chaos(planOf(seed), RAGE_MS)
    await chaos.start()
    await chaos.rage()
    await chaos.calm()
    await chaos.judge()
    console.log(`      ${chaos.figures()}`)
  }).timeout(240_000)
})
