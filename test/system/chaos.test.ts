import { randomInt } from 'node:crypto'
import { Chaos } from './chaos/chaos.ts'
import { planOf } from './chaos/plan.ts'

/** `npm run chaos` goes on for longer. */
const RAGE_MS = 15_000

describe('The sidecar amid random faults', () => {
  const seed = Number(process.env.CHAOS_SEED ?? randomInt(2 ** 31))
  let chaos: Chaos | undefined
  afterEach(() => chaos?.close())

  // Shows: sidecar 2.8, 6.2, 16.1, C4.6, C4.9, C4.12, C4.16, C4.17, C5.9, C5.11, C6.2, C7.11, C7.12, C7.13, C7.14.
  // Shows: sidecar C7.15, C8.4, C9.14, C9.15, C9.17.
  it('stores acknowledged messages once and in order, and pushes them, despite faults', async () => {
    console.log(`      CHAOS_SEED=${seed} replays this:`)
    chaos = new Chaos(planOf(seed), RAGE_MS)
    await chaos.start()
    await chaos.rage()
    await chaos.calm()
    await chaos.judge()
    console.log(`      ${chaos.figures()}`)
  }).timeout(240_000)
})
