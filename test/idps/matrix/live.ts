import { expect } from 'chai'
import { askProvider } from '../../../plugin/doctor/check-live.ts'
import { readDomains } from '../../../plugin/mount/read-domains.ts'
import type { LabOptions } from '../support/lab.ts'
import type { Bench, Runs } from './run.ts'

const REGISTRATION = 'client and redirect address'
const SECRET = 'secret or key'

/** Asks the provider all live questions. Returns the verdicts, and all of them as text. */
async function ask(bench: Bench, options?: LabOptions) {
  const lab = await bench.lab(options)
  const [domain] = readDomains(lab.config).domains
  if (!domain?.settings) throw new Error(JSON.stringify(domain?.problems))
  const verdicts = await askProvider(domain.settings)
  const report = verdicts.map(({ question, verdict, text }) => `${verdict}: ${question}: ${text}`).join('\n')
  const verdictOn = (question: string) => verdicts.find((verdict) => verdict.question === question)?.verdict
  return { verdicts, report, verdictOn }
}

/**
 * Expects the question to fail or warn. Some providers answer a wrong setting to the host, others on their own page.
 */
async function findsWrong(bench: Bench, question: string, options: LabOptions): Promise<void> {
  const { report, verdictOn } = await ask(bench, options)
  expect(verdictOn(question), report).to.be.oneOf(['fail', 'warn'])
}

export const LIVE = {
  live_well: async (bench) => {
    const { verdicts, report, verdictOn } = await ask(bench)
    for (const question of ['discovery', 'key set']) expect(verdictOn(question), report).to.equal('ok')
    expect(
      verdicts.some(({ verdict }) => verdict === 'fail'),
      report,
    ).to.equal(false)
  },

  live_wrong_secret: (bench) =>
    findsWrong(bench, SECRET, { client: { client_secret: 'not-the-secret-of-this-client-at-all-00' } }),

  live_wrong_client_id: (bench) => findsWrong(bench, REGISTRATION, { client: { client_id: 'nobody-by-this-name' } }),

  live_wrong_redirect_uri: (bench) =>
    findsWrong(bench, REGISTRATION, {
      registered: { redirect_uris: ['https://elsewhere.example.org/auth-oidc-callback'] },
    }),
} satisfies Runs
