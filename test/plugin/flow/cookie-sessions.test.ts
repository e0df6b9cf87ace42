import { expect } from 'chai'
import { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { type Idp, startIdp } from '../../../fixtures/idp/server.ts'
import { type OwnServer, startCookieSessionServer } from '../../support/own-server.ts'
import { whoAmI } from '../../support/sign-in-setup.ts'

describe('a host with cookie sessions', () => {
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
  const users = (...people: readonly ScriptedBrowser[]) =>
    Promise.all(people.map(async (person) => (await whoAmI(person, host.url)).id))

  it('asks for no refresh tokens with the preset azure, since it would keep none', async () => {
    await start({ issuer: undefined, custom: { preset: 'azure', tenant_id: 'tenant' } }, '/tenant/v2.0')
    const { headers } = await new ScriptedBrowser().step(`${host.url}auth-oidc`)
    expect(new URL(headers.location ?? '').searchParams.get('scope')).to.equal('openid profile email')
  })

  it('signs people in, and out at the IdP, which is told whose session that is', async () => {
    await start()
    const person = await signedIn('alice')
    expect(await users(person)).to.deep.equal(['~oidc:u-1001'])
    const { headers } = await person.step(`${host.url}logout`)
    const { searchParams } = new URL(headers.location!)
    expect(searchParams.get('logout_hint')).to.be.a('string')
    expect(searchParams.has('id_token_hint')).to.equal(false)
    expect(await users(person)).to.deep.equal([null])
  })

  it('ends the sessions of somebody whom a login refuses for groups.required', async () => {
    await start({ groups: { required: 'mesh-users' } })
    const people = [await signedIn('bob'), await signedIn('bob'), await signedIn('alice')]
    expect(await users(...people)).to.deep.equal(['~oidc:u-1002', '~oidc:u-1002', '~oidc:u-1001'])
    idp.setUser({ username: 'bob', password: 'bob-demo', sub: 'u-1002', claims: { name: 'Bob', groups: [] } })
    await signedIn('bob')
    expect(await users(...people)).to.deep.equal([null, null, '~oidc:u-1001'])
  })

  it('ends sessions that the IdP ended', async () => {
    await start()
    const people = [await signedIn('alice'), await signedIn('alice'), await signedIn('bob')]
    const page = await people[0]!.get(`${idp.issuer}/session/end`)
    await people[0]!.submit(page.forms[0]!, {}, 'Yes, sign me out')
    expect(await users(...people)).to.deep.equal([null, '~oidc:u-1001', '~oidc:u-1002'])
    const token = await idp.logoutToken({ clientId: 'own', sub: 'u-1001' })
    const send = async (body: string | URLSearchParams, headers: Record<string, string> = {}) =>
      (await fetch(`${host.url}auth-oidc-backchannel-logout`, { method: 'POST', body, headers })).status
    // The protocol knows forms only, whatever else this server reads.
    const script = { 'content-type': 'application/json' }
    expect(await send(JSON.stringify({ logout_token: token }), script)).to.equal(400)
    expect(await send(new URLSearchParams({ logout_token: token }))).to.equal(200)
    expect(await users(...people)).to.deep.equal([null, null, '~oidc:u-1002'])
  })
})
