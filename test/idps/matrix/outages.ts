import { X509Certificate } from 'node:crypto'
import { expect } from 'chai'
import { makeClientCertificate } from '../../../fixtures/certificate.ts'
import { discover } from '../support/discover.ts'
import { ALICE } from '../support/people.ts'
import { startSecureLab } from '../support/secure-lab.ts'
import { describeVisit, expectRefused, signInAs } from './expectations.ts'
import type { Bench, Run, Runs } from './run.ts'

const withCertificate =
  (method: 'tls_client_auth' | 'self_signed_tls_client_auth'): Run =>
  async (bench) => {
    const { clientCertificate, selfSignedCertificate = clientCertificate } = bench.idp.secure ?? {}
    const trusted = method === 'tls_client_auth' ? clientCertificate : selfSignedCertificate
    const certificate = trusted ?? (await makeClientCertificate())
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
    expect(await lab.signIn(ALICE), lab.describe()).to.include({ status: 200, email: ALICE.email })
    expect(lab.failure()).to.equal(undefined)
  }

export const OUTAGES = {
  down_at_start: async (bench: Bench) => {
    const { idp, keep } = bench
    keep(() => idp.start())
    const lab = await bench.lab({ beforeHost: () => idp.stop() })
    const page = await lab.browser().get(`${lab.host.url}auth-oidc`)
    expect(page.url).to.match(/failure=provider_unreachable$/)
    expect(lab.authLog.at(-1)?.fields.code).to.equal('discovery_failed')
    expect(lab.authLog.at(-1)?.message).to.match(/issuer/)
    await idp.start()
    await signInAs(lab, ALICE)
  },

  down_at_logout: async (bench) => {
    const { idp, keep } = bench
    keep(() => idp.start())
    const lab = await bench.lab()
    const { browser, page } = await lab.signIn(ALICE)
    expect((await lab.whoIs(browser)).status, describeVisit(lab, page)).to.equal(200)
    const { revocation_endpoint: revocationEndpoint } = await discover(idp)
    await idp.stop()
    const { status, headers } = await browser.step(`${lab.host.url}logout`)
    expect((await lab.whoIs(browser)).status).to.equal(401)
    // The host notices the outage only by a failed request, and without a revocation endpoint it sends none.
    if (revocationEndpoint === undefined) return
    expect(status, describeVisit(lab, page)).to.equal(302)
    expect(new URL(headers.location ?? '', lab.host.url).pathname).to.equal('/login')
    expect(lab.complaints().map(({ event }) => event)).to.include('logout-incomplete')
  },

  private_ca: async (bench) => {
    // This process does not trust the provider's certificate authority.
    const stranger = await bench.lab({ oidc: { issuer: bench.idp.secure?.issuer } })
    expectRefused(stranger, await stranger.signIn(ALICE), 'discovery_failed', [/NODE_EXTRA_CA_CERTS/])
    const lab = await startSecureLab(bench, {})
    expect(await lab.signIn(ALICE), lab.describe()).to.include({ status: 200, email: ALICE.email })
  },

  tls_client_auth: withCertificate('tls_client_auth'),
  self_signed_tls_client_auth: withCertificate('self_signed_tls_client_auth'),
} satisfies Runs
