import { expect } from 'chai'
import { until } from '../../support/until.ts'
import { ALICE } from '../support/people.ts'
import type { ClientRegistration } from '../support/real-idp.ts'
import { type Outcome, outcomeOf, type RenewalCase } from '../support/renewals.ts'
import { describeVisit, signInAs } from './expectations.ts'
import type { Bench, Run, Runs } from './run.ts'

/** How often a session in use is checked in these tests. An installation checks every few minutes. */
const CHECK_MS = 50
const LIFE_S = 1
/** A session that survives this many answers counts as kept. */
const ANSWERS = 3

/**
 * Signs Alice in, waits for an answer about the session, lets something happen at the provider, and checks the outcome.
 */
const afterEvent =
  (name: RenewalCase, renewal: ClientRegistration['renewal'], happens: (bench: Bench) => unknown): Run =>
  async (bench) => {
    let answers = 0
    const listening: typeof globalThis.fetch = async (input, init) => {
      const answer = await globalThis.fetch(input, init)
      // Answers with tokens, renewed tokens or introspection.
      if (init?.method === 'POST' && answer.ok) answers += 1
      return answer
    }
    const lab = await bench.lab({
      registered: { renewal: renewal ?? {} },
      host: { fetch: listening, sessionCheckMs: CHECK_MS },
    })
    const visit = await signInAs(lab, ALICE)
    const isIn = async () => (await lab.whoIs(visit.browser)).status === 200
    const lines = (event: string) => lab.authLog.filter((line) => line.event === event).length
    // The login causes the first answer. After the second, no check is pending until the session is used again.
    await until('an answer about the session', () => answers > 1 || lines('session-ended') > 0)
    await happens(bench)
    const answersBefore = answers
    const outcome = await until<Outcome>('the outcome', async () => {
      if (!(await isIn())) return 'out'
      if (lines('session-check-failed') > 0) return 'line'
      return answers >= answersBefore + ANSWERS && 'in'
    })
    expect(outcome, describeVisit(lab, visit.page)).to.deep.equal(outcomeOf(bench.name, name))
    expect(lines('session-ended')).to.equal(outcome === 'out' ? 1 : 0)
  }

const act =
  (name: keyof NonNullable<Bench['idp']['acts']>) =>
  async ({ idp }: Bench) => {
    const happens = idp.acts?.[name]
    if (!happens) throw new Error('a provider without this act must list it in its outcomes')
    await happens(ALICE)
  }

export const RENEWAL = {
  renewal_disabled: afterEvent('renewal_disabled', {}, ({ idp }) => idp.disable(ALICE)),
  renewal_deleted: afterEvent('renewal_deleted', {}, act('delete')),
  renewal_ended: afterEvent('renewal_ended', {}, ({ idp }) => idp.endSessions?.(ALICE, 'all')),
  // The session stays unused until its refresh token has expired.
  renewal_idle: afterEvent('renewal_idle', { lifeS: LIFE_S }, async ({ idp }) => {
    if (idp.acts?.age) return idp.acts.age(ALICE)
    const end = Date.now() + (LIFE_S + 1) * 1000
    return until('the refresh token to run out', () => Date.now() > end)
  }),
  renewal_password: afterEvent('renewal_password', {}, async ({ idp }) => {
    const setPassword = idp.acts?.setPassword ?? idp.setPerson
    await setPassword({ ...ALICE, password: 'Alice-has-1-more-password' })
  }),
  renewal_consent: afterEvent('renewal_consent', { asksConsent: true }, act('revokeConsent')),
  renewal_rotating: afterEvent('renewal_rotating', { rotates: true }, () => undefined),
  renewal_kept: afterEvent('renewal_kept', { rotates: false }, () => undefined),
} satisfies Runs
