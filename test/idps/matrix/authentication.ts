import { X509Certificate } from 'node:crypto'
import { expect } from 'chai'
import { makeClientCertificate } from '../../../fixtures/certificate.ts'
import { makeKey } from '../../support/client-keys.ts'
import type { LabOptions } from '../support/lab.ts'
import { ALICE } from '../support/people.ts'
import { startSecureLab } from '../support/secure-lab.ts'
import { expectNoComplaint, signsIn, told } from './expectations.ts'
import type { Bench, Run, Runs } from './run.ts'

/** In, asked about at the provider, out: each of the three sends the client's credentials somewhere else. */
async function worksThroughout({ lab: start, idp }: Bench, options: LabOptions): Promise<void> {
  const lab = await start(options)
  const visit = await signsIn(lab, ALICE)
  if (idp.cannot.introspection === undefined)
    expect(await lab.stateOf(visit.browser), told(lab, visit.page)).to.equal('active')
  const page = await lab.signOut(visit.browser)
  expect((await lab.whoIs(visit.browser)).status).to.equal(401)
  expectNoComplaint(lab, page)
}

type Method = NonNullable<LabOptions['both']>['token_endpoint_auth_method'] & string
const by = (method: Method) => (bench: Bench) =>
  worksThroughout(bench, { both: { token_endpoint_auth_method: method } })
const withSecret = (secret: string) => (bench: Bench) => worksThroughout(bench, { secret })

const withCertificate =
  (method: 'tls_client_auth' | 'self_signed_tls_client_auth'): Run =>
  async (bench) => {
    const { clientCertificate, selfSignedCertificate = clientCertificate } = bench.idp.secure ?? {}
    const its = method === 'tls_client_auth' ? clientCertificate : selfSignedCertificate
    const certificate = its ?? (await makeClientCertificate())
    const x509 = new X509Certificate(certificate.cert)
    const registered =
      method === 'tls_client_auth'
        ? { tls_client_auth_subject_dn: x509.subject.split('\n').reverse().join(',') }
        : {
            jwks: {
              keys: [{ ...x509.publicKey.export({ format: 'jwk' }), use: 'sig', x5c: [x509.raw.toString('base64')] }],
            },
          }
    const lab = await startSecureLab(bench, {
      both: { token_endpoint_auth_method: method },
      registered,
      certificate,
      secret: null,
    })
    expect(await lab.signIn(ALICE), lab.told()).to.include({ status: 200, email: ALICE.email })
    expect(lab.failure()).to.equal(undefined)
  }

export const AUTHENTICATION = {
  login: async ({ lab: start }) => {
    const lab = await start()
    const visit = await signsIn(lab, ALICE)
    expectNoComplaint(lab, visit.page)
  },
  client_secret_basic: by('client_secret_basic'),
  client_secret_post: by('client_secret_post'),
  client_secret_jwt: by('client_secret_jwt'),
  private_key_jwt: (bench) =>
    worksThroughout(bench, {
      both: { token_endpoint_auth_method: 'private_key_jwt' },
      keys: [makeKey('RSA', { kid: 'sig-1', use: 'sig', alg: 'RS256' })],
    }),
  // Anybody could ask in the name of a client without credentials: providers may tell such a one nothing.
  public_client: async ({ lab: start, idp }) => {
    const lab = await start({ both: { token_endpoint_auth_method: 'none' }, secret: null })
    const visit = await signsIn(lab, ALICE)
    const refused = idp.refusedToPublic ?? []
    if (refused.length > 0) expect(await lab.stateOf(visit.browser), told(lab, visit.page)).to.equal('unknown')
    const page = await lab.signOut(visit.browser)
    expect(page.url, told(lab, page)).to.satisfy((url: string) => url.startsWith(`${lab.host.url}login`))
    expect((await lab.whoIs(visit.browser)).status).to.equal(401)
    expect(lab.complaints().map(({ event }) => event)).to.deep.equal(refused)
  },
  tls_client_auth: withCertificate('tls_client_auth'),
  self_signed_tls_client_auth: withCertificate('self_signed_tls_client_auth'),
  secret_uuid: withSecret('6f1c9a52-0f5b-4c44-9d0e-3c5a8a2b7d10'),
  secret_blanks: withSecret('a secret with  blanks, long enough for all'),
  secret_signs: withSecret('a+b%20c:d/e&f=g?h#i"j~k.l_m-n*o!p(q)r\'s'),
  secret_letters: withSecret('ein-Geheimnis-mit-äöü-é-ß-und-日本'),
} satisfies Runs
