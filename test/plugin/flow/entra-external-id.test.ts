import { expect } from 'chai'
import { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { makeCertificates } from '../../../fixtures/certificate.ts'
import { anyCertificateFetch } from '../../support/any-certificate-fetch.ts'
import { setups } from '../../support/sign-in-setup.ts'

const TENANT = '7d2b5b3a-1111-4222-8333-123456789abc'
const NAME = 'https://contoso.ciamlogin.com'

describe('login with Entra External ID', () => {
  const start = setups()

  async function startExternalId(publishedIssuer: string) {
    const { server } = await makeCertificates()
    let origin = ''
    const setup = await start({
      idp: { tls: server, path: `/${TENANT}/v2.0`, publishedIssuer, claimsIn: 'id_token' },
      oidc: ({ idp }) => {
        origin = new URL(idp.issuer).origin
        return { issuer: `${NAME}/${TENANT}/v2.0` }
      },
      // The name leads to this machine, as a name server would resolve it.
      host: { fetch: (url, init) => anyCertificateFetch(String(url).replace(NAME, origin), init) },
    })
    const browser = new ScriptedBrowser({ anyCertificate: true })
    try {
      return { ...setup, login: await setup.signIn('alice', browser) }
    } finally {
      browser.close()
    }
  }

  // Shows: plugin 2.8.
  it('a login succeeds if the published issuer has the tenant id in its host name', async () => {
    const { login } = await startExternalId(`https://${TENANT}.ciamlogin.com/${TENANT}/v2.0`)
    expect(login.me).to.include({ status: 200, id: '~oidc:u-1001' })
  })

  // Shows: plugin 2.8.
  it('refuses logins if the issuer in discovery belongs to another tenant', async () => {
    const otherTenant = TENANT.replace('7', '8')
    const { login } = await startExternalId(`https://${otherTenant}.ciamlogin.com/${otherTenant}/v2.0`)
    expect(login.me.status).to.equal(401)
    expect(login.failure).to.include({ code: 'discovery_failed', configuredIssuer: `${NAME}/${TENANT}/v2.0` })
  })
})
