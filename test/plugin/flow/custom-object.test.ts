import { expect } from 'chai'
import type { IdpUser } from '../../../fixtures/idp/users.ts'
import { setups } from '../../support/sign-in-setup.ts'

/** A person as a directory knows them, with claims under names of its own. */
const dora = (claims: Record<string, unknown>): IdpUser => ({
  username: 'dora',
  password: 'dora-demo',
  sub: 'u-2001',
  claims: { name: 'Standard Name', email: 'standard@example.test', email_verified: true, ...claims },
})

describe('the custom object in a whole login', () => {
  const start = setups()

  for (const [form, scope, expected] of [
    ['that is absent', undefined, 'openid profile email'],
    ['as one text separated by spaces', 'openid email directory', 'openid email directory'],
    ['as an array', ['openid', 'email', 'directory'], 'openid email directory'],
    ['as one text with one element', 'directory', 'openid directory'],
    ['as an array with one element', ['directory'], 'openid directory'],
    ['that leaves openid out', ['email'], 'openid email'],
  ] as const) {
    it(`asks for the scope ${form}, and always for openid`, async () => {
      const { asked, signIn, idp } = await start({
        oidc: { custom: scope === undefined ? {} : { scope } },
        idp: { scopes: { directory: ['callsign'] } },
      })
      idp.setUser(dora({ callsign: 'N0CALL' }))
      expect((await asked()).searchParams.get('scope')).to.equal(expected)
      expect((await signIn('dora')).who).to.include({ status: 200, id: '~oidc:u-2001' })
    })
  }

  for (const claimsIn of ['id_token', 'userinfo'] as const) {
    it(`takes uuid, name and email from the claims that are configured, out of ${claimsIn}`, async () => {
      const { signIn, idp } = await start({
        oidc: {
          custom: { scope: 'openid profile email directory', claims: { uuid: 'oid', name: 'callsign', email: 'mail' } },
        },
        idp: { claimsIn, scopes: { directory: ['oid', 'callsign', 'mail'] } },
      })
      idp.setUser(dora({ oid: 'D-7', callsign: 'N0CALL', mail: 'dora@radio.test' }))
      const { who } = await signIn('dora')
      expect(who).to.include({ id: '~oidc:D-7', name: 'N0CALL', email: 'dora@radio.test' })
    })
  }

  it('refuses a login whose uuid claim is missing or no usable text, and the log names the claim', async () => {
    const { signIn, idp } = await start({
      oidc: { custom: { scope: 'openid directory', claims: { uuid: 'oid' } } },
      idp: { scopes: { directory: ['oid'] } },
    })
    for (const oid of [undefined, 'a\u0000b']) {
      idp.setUser(dora(oid === undefined ? {} : { oid }))
      const { page, failure } = await signIn('dora')
      expect(page.url, String(oid)).to.match(/\/login\?failure=login_failed$/)
      expect(failure).to.include({ code: 'subject_unusable', claim: 'oid' })
    }
  })
})
