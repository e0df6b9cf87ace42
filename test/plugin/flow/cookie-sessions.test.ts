import { expect } from 'chai'
import { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { type Idp, startIdp } from '../../../fixtures/idp/server.ts'
import { type OwnServer, startCookieSessionServer } from '../../support/own-server.ts'
import { whoAmI } from '../../support/sign-in-setup.ts'

describe('host with cookie sessions', () => {
  let idp: Idp
  let host: OwnServer
  const start = async (oidc: Readonly<Record<string, unknown>> = {}, path = '') => {
    idp = await startIdp({ path })
    host = await startCookieSessionServer({ idp, oidc, presets: { azure: { login: new URL(idp.issuer).origin } } })
  }
  afterEach(async () => {
    await host.close()
    await idp.close()
  })

  const signedIn = async (name: string) => {
    const person = new ScriptedBrowser()
    await person.login(host.url, name, `${name}-demo`)
    return person
  }
  const user = async (person: ScriptedBrowser) => (await whoAmI(person, host.url)).id

  it('with cookie sessions, a login with the preset azure requests no refresh token', async () => {
    await start({ issuer: undefined, custom: { preset: 'azure', tenant_id: 'tenant' } }, '/tenant/v2.0')
    const { headers } = await new ScriptedBrowser().step(`${host.url}auth-oidc`)
    expect(new URL(headers.location ?? '').searchParams.get('scope')).to.equal('openid profile email')
  })

  it('with cookie sessions, a logout sends the IdP a logout_hint, not an id_token_hint', async () => {
    await start()
    const person = await signedIn('alice')
    expect(await user(person)).to.equal('~oidc:u-1001')
    const { headers } = await person.step(`${host.url}logout`)
    const { searchParams } = new URL(headers.location!)
    expect(searchParams.get('logout_hint')).to.be.a('string')
    expect(searchParams.has('id_token_hint')).to.equal(false)
    expect(await user(person)).to.equal(null)
  })

  it('refuses logout tokens in JSON, even if the server parses JSON bodies', async () => {
    await start()
    const person = await signedIn('alice')
    const token = await idp.logoutToken({ clientId: 'own', sub: 'u-1001' })
    const send = async (body: string | URLSearchParams, headers: Record<string, string> = {}) =>
      (await fetch(`${host.url}auth-oidc-backchannel-logout`, { method: 'POST', body, headers })).status
    const script = { 'content-type': 'application/json' }
    expect(await send(JSON.stringify({ logout_token: token }), script)).to.equal(400)
    expect(await user(person)).to.equal('~oidc:u-1001')
    expect(await send(new URLSearchParams({ logout_token: token }))).to.equal(200)
    expect(await user(person)).to.equal(null)
  })
})
