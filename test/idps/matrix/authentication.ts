import { X509Certificate } from 'node:crypto'
import { expect } from 'chai'
import { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { createClientFolder, makeKey } from '../../support/client-keys.ts'
import { freePort, startHostProcess } from '../../support/host-process.ts'
import { whoAmI } from '../../support/sign-in-setup.ts'
import { type LabOptions, oidcObject, registrationAt } from '../support/lab.ts'
import { ALICE } from '../support/people.ts'
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

/**
 * By TLS, with a certificate of the client, at a host in a process of its own: only so can it be made to trust a private authority, by
 * NODE_EXTRA_CA_CERTS.
 */
const withCertificate =
  (method: 'tls_client_auth' | 'self_signed_tls_client_auth'): Run =>
  async ({ idp, keep }) => {
    const { secure } = idp
    if (!secure) throw new Error('a provider without TLS has to say so in `cannot`')
    const { clientCertificate, selfSignedCertificate = clientCertificate } = secure
    const its = method === 'tls_client_auth' ? clientCertificate : selfSignedCertificate
    const { cert, key } = its
    const x509 = new X509Certificate(cert)
    const certificateKey = {
      ...x509.publicKey.export({ format: 'jwk' }),
      use: 'sig',
      x5c: [x509.raw.toString('base64')],
    }
    const options: LabOptions = {
      both: { token_endpoint_auth_method: method },
      registered:
        method === 'tls_client_auth'
          ? { tls_client_auth_subject_dn: x509.subject.split('\n').reverse().join(',') }
          : { jwks: { keys: [certificateKey] } },
      oidc: { issuer: secure.issuer },
      secret: null,
    }
    const port = await freePort()
    const url = `http://127.0.0.1:${port}/`
    const oidc = oidcObject(idp, await idp.register(registrationAt(idp, url, options)), url, options)
    const folder = await createClientFolder()
    keep(folder.remove)
    const files = { tlsCertFile: await folder.write('cert.pem', cert), tlsKeyFile: await folder.write('key.pem', key) }
    const domains = { '': { authStrategies: { oidc }, oidcCredentials: files } }
    const config = await folder.write('config.json', JSON.stringify({ settings: { cert: '127.0.0.1' }, domains }))
    const host = await startHostProcess(config, port, { NODE_EXTRA_CA_CERTS: await folder.write('ca.pem', secure.ca) })
    keep(host.stop)
    const browser = new ScriptedBrowser({ ca: secure.ca })
    keep(() => browser.close())
    const page = await idp.signIn(browser, await browser.get(`${url}auth-oidc`), ALICE)
    const lines = host.lines.filter(({ level }) => level !== 'info').map((line) => JSON.stringify(line))
    const said = [`ended at ${page.url} (${page.status}): ${page.text.slice(0, 500)}`, ...lines].join('\n')
    expect(await whoAmI(browser, url), said).to.include({ status: 200, email: ALICE.email })
    expect(host.lines.filter(({ event }) => event === 'login-failed')).to.deep.equal([])
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
