import { expect } from 'chai'
import { askProvider } from '../../../plugin/doctor/check-live.ts'
import { readDomains } from '../../../plugin/mount/read-domains.ts'
import type { LabOptions } from '../support/lab.ts'
import type { Bench, Runs } from './run.ts'

const REGISTRATION = 'client and redirect address'
const SECRET = 'secret or key'

/** Every question with its verdict, and all that was said. */
async function ask(bench: Bench, options?: LabOptions) {
  const lab = await bench.lab(options)
  const [domain] = readDomains(lab.config).domains
  if (!domain?.settings) throw new Error(JSON.stringify(domain?.problems))
  const verdicts = await askProvider(domain.settings)
  const told = verdicts.map(({ question, verdict, text }) => `${verdict}: ${question}: ${text}`).join('\n')
  const of = (question: string) => verdicts.find((one) => one.question === question)?.verdict
  return { verdicts, told, of }
}

/** What the provider says to a wrong setting may come to us, or end at a page of its own; it never counts as well. */
async function findsWrong(bench: Bench, question: string, options: LabOptions): Promise<void> {
  const { told, of } = await ask(bench, options)
  expect(of(question), told).to.be.oneOf(['fail', 'warn'])
}

export const LIVE = {
  live_well: async (bench) => {
    const { verdicts, told, of } = await ask(bench)
    for (const question of ['discovery', 'key set']) expect(of(question), told).to.equal('ok')
    expect(
      verdicts.some(({ verdict }) => verdict === 'fail'),
      told,
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
