import { expect } from 'chai'
import { until } from '../../meshcentral/support/until.ts'
import { ALICE } from '../support/people.ts'
import type { ClientRegistration } from '../support/real-idp.ts'
import { type Outcome, outcomeOf, type RenewalCase } from '../support/renewals.ts'
import { signsIn, told } from './expectations.ts'
import type { Bench, Run, Runs } from './run.ts'

/** How often a session in use is asked about here: minutes in an installation. */
const CHECK_MS = 50
const LIFE_S = 1
/** A session that was asked about so often since goes on. */
const ANSWERS = 3

/**
 * Somebody is signed in, and has had an answer to a question about the session; then something happens at the provider.
 */
const after =
  (name: RenewalCase, renewal: ClientRegistration['renewal'], happens: (bench: Bench) => unknown): Run =>
  async (bench) => {
    let answers = 0
    const listening: typeof globalThis.fetch = async (input, init) => {
      const answer = await globalThis.fetch(input, init)
      // Tokens, renewed tokens, and what introspection says.
      if (init?.method === 'POST' && answer.ok) answers += 1
      return answer
    }
    const lab = await bench.lab({
      registered: { renewal: renewal ?? {} },
      host: { fetch: listening, sessionCheckMs: CHECK_MS },
    })
    const visit = await signsIn(lab, ALICE)
    const isIn = async () => (await lab.whoIs(visit.browser)).status === 200
    const lines = (event: string) => lab.authLog.filter((line) => line.event === event).length
    // That one came of the login; nothing is under way until the session is used again.
    await until('an answer about the session', () => answers > 1 || lines('session-ended') > 0)
    await happens(bench)
    const before = answers
    const outcome = await until<Outcome>('what comes of it', async () => {
      if (!(await isIn())) return 'out'
      if (lines('session-check-failed') > 0) return 'line'
      return answers >= before + ANSWERS && 'in'
    })
    expect(outcome, told(lab, visit.page)).to.deep.equal(outcomeOf(bench.name, name))
    expect(lines('session-ended')).to.equal(outcome === 'out' ? 1 : 0)
  }

const act =
  (name: keyof NonNullable<Bench['idp']['acts']>) =>
  async ({ idp }: Bench) => {
    const happens = idp.acts?.[name]
    if (!happens) throw new Error('a provider that has no such thing has to say so in its outcomes')
    await happens(ALICE)
  }

export const RENEWAL = {
  renewal_disabled: after('renewal_disabled', {}, ({ idp }) => idp.disable(ALICE)),
  renewal_deleted: after('renewal_deleted', {}, act('delete')),
  renewal_ended: after('renewal_ended', {}, ({ idp }) => idp.endSessions?.(ALICE, 'all')),
  // Nobody uses the session meanwhile.
  renewal_idle: after('renewal_idle', { lifeS: LIFE_S }, async ({ idp }) => {
    if (idp.acts?.age) return idp.acts.age(ALICE)
    const end = Date.now() + (LIFE_S + 1) * 1000
    return until('the refresh token to run out', () => Date.now() > end)
  }),
  renewal_password: after('renewal_password', {}, async ({ idp }) => {
    const setPassword = idp.acts?.setPassword ?? idp.setPerson
    await setPassword({ ...ALICE, password: 'Alice-has-1-more-password' })
  }),
  renewal_consent: after('renewal_consent', { asksConsent: true }, act('revokeConsent')),
  renewal_rotating: after('renewal_rotating', { rotates: true }, () => undefined),
  renewal_kept: after('renewal_kept', { rotates: false }, () => undefined),
} satisfies Runs
