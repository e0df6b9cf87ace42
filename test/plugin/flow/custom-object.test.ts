import { expect } from 'chai'
import type { IdpUser } from '../../../fixtures/idp/users.ts'
import { setups, whoAmI } from '../../support/sign-in-setup.ts'

/** A person as a directory knows them, with claims under names of its own. */
const dora = (claims: Record<string, unknown>): IdpUser => ({
  username: 'dora',
  password: 'dora-demo',
  sub: 'u-2001',
  claims: { name: 'Standard Name', email: 'standard@example.test', email_verified: true, ...claims },
})

describe('the custom object in a whole login', () => {
  const { start, closeAll } = setups()
  afterEach(closeAll)

  for (const [form, scope, asked] of [
    ['that is absent', undefined, 'openid profile email'],
    ['as one text separated by spaces', 'openid email directory', 'openid email directory'],
    ['as an array', ['openid', 'email', 'directory'], 'openid email directory'],
    ['as one text with one element', 'directory', 'openid directory'],
    ['as an array with one element', ['directory'], 'openid directory'],
    ['that leaves openid out', ['email'], 'openid email'],
  ] as const) {
    it(`asks for the scope ${form}, and always for openid`, async () => {
      const { host, browser, idp } = await start({
        oidc: { custom: scope === undefined ? {} : { scope } },
        idp: { scopes: { directory: ['callsign'] } },
      })
      idp.setUser(dora({ callsign: 'N0CALL' }))
      const person = browser()
      expect((await person.login(host.url, 'dora', 'dora-demo')).url).to.equal(host.url)
      const location = (await person.step(`${host.url}auth-oidc`)).headers.location ?? ''
      expect(new URL(location).searchParams.get('scope')).to.equal(asked)
      expect(await whoAmI(person, host.url)).to.include({ status: 200, id: '~oidc:u-2001' })
    })
  }

  it('brings the claims of the scope that was asked for, and not those of another', async () => {
    for (const [scope, email] of [
      ['openid profile email', 'standard@example.test'],
      ['openid profile', null],
    ] as const) {
      const { host, browser, idp } = await start({ oidc: { custom: { scope } } })
      idp.setUser(dora({}))
      const person = browser()
      await person.login(host.url, 'dora', 'dora-demo')
      expect(await whoAmI(person, host.url), scope).to.include({ name: 'Standard Name', email })
    }
  })

  for (const claimsIn of ['id_token', 'userinfo'] as const) {
    it(`takes uuid, name and email from the claims that are configured, out of ${claimsIn}`, async () => {
      const { host, browser, idp } = await start({
        oidc: {
          custom: { scope: 'openid profile email directory', claims: { uuid: 'oid', name: 'callsign', email: 'mail' } },
        },
        idp: { claimsIn, scopes: { directory: ['oid', 'callsign', 'mail'] } },
      })
      idp.setUser(dora({ oid: 'D-7', callsign: 'N0CALL', mail: 'dora@radio.test' }))
      const person = browser()
      await person.login(host.url, 'dora', 'dora-demo')
      expect(await whoAmI(person, host.url)).to.include({
        id: '~oidc:D-7',
        name: 'N0CALL',
        email: 'dora@radio.test',
      })
    })
  }

  it('takes each claim that is not configured from the one of its name, and uuid from sub', async () => {
    const { host, browser, idp } = await start({
      oidc: { custom: { scope: 'openid profile email directory', claims: { name: 'callsign' } } },
      idp: { scopes: { directory: ['callsign', 'uuid'] } },
    })
    idp.setUser(dora({ callsign: 'N0CALL', uuid: 'never this' }))
    const person = browser()
    await person.login(host.url, 'dora', 'dora-demo')
    expect(await whoAmI(person, host.url)).to.include({
      id: '~oidc:u-2001',
      name: 'N0CALL',
      email: 'standard@example.test',
    })
  })

  it('keeps an account id that contains a slash as it is, apart from every other', async () => {
    const { host, browser, idp } = await start({
      oidc: { custom: { scope: 'openid profile email directory', claims: { uuid: 'path' } } },
      idp: { scopes: { directory: ['path'] } },
    })
    const signIn = async (path: string, sub: string) => {
      idp.setUser({ ...dora({ path }), sub })
      const person = browser()
      await person.login(host.url, 'dora', 'dora-demo')
      return (await whoAmI(person, host.url)).id
    }
    const ids = ['corp/dora', 'corp', 'corp/dora/', '/corp/dora', '../corp/dora', 'corp%2Fdora']
    for (const [at, path] of ids.entries()) expect(await signIn(path, `s-${at}`)).to.equal(`~oidc:${path}`)
    for (const path of ids)
      expect(await host.records.accounts.find('', `~oidc:${path}`), path).to.include({ id: `~oidc:${path}` })
  })

  it('refuses a login whose uuid claim is missing or no usable text, and the log names the claim', async () => {
    const { host, browser, idp, authLog } = await start({
      oidc: { custom: { scope: 'openid directory', claims: { uuid: 'oid' } } },
      idp: { scopes: { directory: ['oid'] } },
    })
    for (const oid of [undefined, 7, '', 'a\u0000b', 'x'.repeat(256)]) {
      idp.setUser(dora(oid === undefined ? {} : { oid }))
      const page = await browser().login(host.url, 'dora', 'dora-demo')
      expect(page.url, String(oid)).to.match(/\/login\?failure=login_failed$/)
      expect(authLog.at(-1)?.fields).to.include({ code: 'subject_unusable', claim: 'oid' })
    }
  })

  it('of null for a preset is the same as of none', async () => {
    const { host, browser } = await start({ oidc: { custom: { preset: null } } })
    expect((await browser().login(host.url, 'alice', 'alice-demo')).url).to.equal(host.url)
  })
})
