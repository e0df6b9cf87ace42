import { expect } from 'chai'
import type { AuthMethod } from '../../../plugin/config/settings.ts'
import { makeKey } from '../../support/client-keys.ts'
import type { LabOptions } from '../support/lab.ts'
import { ALICE } from '../support/people.ts'
import { describeVisit, expectNoComplaint, signInAs, signInCleanly, signOutFully } from './expectations.ts'
import type { Bench, Runs } from './run.ts'

/** Signs in, checks the session and signs out. Each of the three sends the client's credentials to another endpoint. */
async function worksThroughout({ lab: start }: Bench, options: LabOptions): Promise<void> {
  const lab = await start(options)
  const { browser, page } = await signInAs(lab, ALICE)
  expect(await lab.stateOf(browser), describeVisit(lab, page)).to.equal('active')
  expectNoComplaint(lab, await signOutFully(lab, browser))
}

const withMethod = (method: AuthMethod) => (bench: Bench) =>
  worksThroughout(bench, { both: { token_endpoint_auth_method: method } })
const withSecret = (secret: string) => (bench: Bench) => worksThroughout(bench, { secret })

export const AUTHENTICATION = {
  login: async (bench) => void (await signInCleanly(bench)),
  client_secret_basic: withMethod('client_secret_basic'),
  client_secret_post: withMethod('client_secret_post'),
  client_secret_jwt: withMethod('client_secret_jwt'),
  private_key_jwt: (bench) =>
    worksThroughout(bench, {
      both: { token_endpoint_auth_method: 'private_key_jwt' },
      keys: [makeKey('RSA', { kid: 'sig-1', use: 'sig', alg: 'RS256' })],
    }),
  // Anyone could ask in the name of a client without credentials. A provider may refuse to tell such a client anything.
  public_client: async ({ lab: start, idp }) => {
    const lab = await start({ both: { token_endpoint_auth_method: 'none' }, secret: null })
    const { browser, page } = await signInAs(lab, ALICE)
    const refused = idp.refusedToPublic ?? []
    if (refused.length > 0) expect(await lab.stateOf(browser), describeVisit(lab, page)).to.equal('unknown')
    await signOutFully(lab, browser)
    expect(lab.complaints().map(({ event }) => event)).to.deep.equal(refused)
  },
  secret_uuid: withSecret('6f1c9a52-0f5b-4c44-9d0e-3c5a8a2b7d10'),
  secret_blanks: withSecret('a secret with  blanks, long enough for all'),
  secret_signs: withSecret('a+b%20c:d/e&f=g?h#i"j~k.l_m-n*o!p(q)r\'s'),
  secret_letters: withSecret('ein-Geheimnis-mit-äöü-é-ß-und-日本'),
} satisfies Runs
