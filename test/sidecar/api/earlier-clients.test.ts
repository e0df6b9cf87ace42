import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { startApi } from '../../support/running-api.ts'

/**
 * What version 0.2.0 answered to a client of its time, and what came from the air between, a second after the step
 * before each. One thing is new in the calls: the device without an id shows its push token when it unregisters.
 */
type Step =
  | { readonly message: { readonly from: string; readonly to: string; readonly seqId: string; readonly text: string } }
  | { readonly path: string; readonly body: object; readonly status: number; readonly answer: object }
const STEPS = readFileSync(new URL('calls-of-0.2.0.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line): Step => JSON.parse(line))

const SENTENCES = new Set(['message', 'reason'])

describe('a client of version 0.2.0', () => {
  // Shows: sidecar 2.8, 2.16, 4.2, 4.3, 6.1, 6.3, 9.2, 11.6, 11.7, 11.12, 12.2, 12.3, 14.2, 17.2, 17.5, C2.2, C2.5.
  // Shows: sidecar C3.4, C4.1, C4.9, C16.9.
  it('gets the answers that it got then, but for the sentences for its developer', async () => {
    const api = await startApi({ isReserved: (key) => key === 'SMSGTE' })
    try {
      for (const [index, step] of STEPS.entries()) {
        api.clock.set(api.clock.now() + 1000)
        if ('message' in step) {
          const { from, text } = step.message
          await api.store.history.append([{ ...step.message, sourceAsReceived: from, text: Buffer.from(text) }], false)
          continue
        }
        const { status, body } = await api.post(step.path, step.body)
        const answer = JSON.parse(JSON.stringify(body, (name, value) => (SENTENCES.has(name) ? undefined : value)))
        // Which stamp an answer has may change; that it has one, and that of its newest message or a newer one, may
        // not.
        const serverTime = Math.max(...(body.messages ?? []).map(({ time }) => Number(time)), body.serverTime)
        const expected = 'serverTime' in step.answer ? { ...step.answer, serverTime } : step.answer
        expect([index, status, answer]).to.deep.equal([index, step.status, expected])
      }
    } finally {
      await api.close()
    }
  })
})
