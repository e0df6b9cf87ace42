import { expect } from 'chai'
import { DEPRECATED_NAMES } from '../../../plugin/config/migration/deprecated-keys.ts'
import { type Doors, openDoors } from '../../support/doors.ts'
import { CLIENT, type Places, type Setup, setups, whoAmI } from '../../support/sign-in-setup.ts'

const TENANT = 'contoso.example'

/** Each old key with its new place. */
const PLACES: Readonly<Record<string, string>> = {
  clientid: 'client.client_id',
  clientsecret: 'client.client_secret',
  callbackURL: 'client.redirect_uri',
  authorizationURL: 'issuer.authorization_endpoint',
  tokenURL: 'issuer.token_endpoint',
  userInfoURL: 'issuer.userinfo_endpoint',
  logoutURL: 'logouturl',
  scope: 'custom.scope',
  tenantid: 'custom.tenant_id',
  customerid: 'custom.customer_id',
}

describe('deprecated keys in a whole login', () => {
  const { start, closeAll } = setups()
  let doors: Doors
  beforeEach(async () => {
    doors = await openDoors()
  })
  afterEach(async () => {
    await closeAll()
    await doors.close()
  })

  const OLD = ({ idp, hostUrl }: Places) => ({
    issuer: idp.issuer,
    clientid: 'old-id',
    clientsecret: 'an-old-client-secret-of-the-tests',
    callbackURL: `${hostUrl}old/callback`,
    authorizationURL: doors.to('old-authorization', `${idp.issuer}/auth`),
    tokenURL: doors.to('old-token', `${idp.issuer}/token`),
    userInfoURL: doors.to('old-userinfo', `${idp.issuer}/me`),
    logoutURL: 'https://idp.example/old-bye',
    scope: ['openid', 'email', 'groups'],
    tenantid: 'old-tenant',
    customerid: 'C0old',
    groups: { required: 'mesh-users', sync: { enabled: true } },
    newAccounts: true,
  })
  const NEW = ({ idp, hostUrl }: Places) => ({
    client: { ...CLIENT, redirect_uri: `${hostUrl}new/callback` },
    issuer: {
      issuer: idp.issuer,
      authorization_endpoint: doors.to('new-authorization', `${idp.issuer}/auth`),
      token_endpoint: doors.to('new-token', `${idp.issuer}/token`),
      userinfo_endpoint: doors.to('new-userinfo', `${idp.issuer}/me`),
    },
    logouturl: 'https://idp.example/new-bye',
    custom: { scope: 'openid profile email groups', tenant_id: 'new-tenant', customer_id: 'C0new' },
    groups: { required: 'mesh-users', sync: { filter: 'mesh-users' } },
  })
  const warnings = ({ authLog }: Setup) => authLog.filter(({ event }) => event === 'deprecated-key')
  const visits = (age: 'old' | 'new') =>
    ['authorization', 'token', 'userinfo'].map((endpoint) => doors.visits(`${age}-${endpoint}`))

  async function startWith(exactly: (at: Places) => Record<string, unknown>) {
    const setup = await start({ exactly, idp: { claimsIn: 'userinfo' } })
    for (const [id, secret, path] of [
      ['old-id', 'an-old-client-secret-of-the-tests', 'old/callback'],
      [CLIENT.client_id, CLIENT.client_secret, 'new/callback'],
    ] as const) {
      await setup.idp.addClient({
        client_id: id,
        client_secret: secret,
        redirect_uris: [`${setup.host.url}${path}`],
      })
    }
    return setup
  }
  async function signIn(setup: Setup) {
    const person = setup.browser()
    const asked = new URL((await person.step(`${setup.host.url}auth-oidc`)).headers.location ?? '')
    const page = await person.login(setup.host.url, 'alice', 'alice-demo')
    const who = await whoAmI(person, setup.host.url)
    const { location } = (await person.step(`${setup.host.url}logout`)).headers
    return { asked: asked.searchParams, page, who, location }
  }

  const spellings: readonly (readonly [string, (name: string) => string])[] = [
    ['as they are', (name) => name],
    ['in lower case', (name) => name.toLowerCase()],
    ['in upper case', (name) => name.toUpperCase()],
  ]
  for (const [spelling, spell] of spellings) {
    it(`all work, written ${spelling}, at one warning each that names the new place`, async () => {
      const spelt = (at: Places) =>
        Object.fromEntries(Object.entries(OLD(at)).map(([name, value]) => [spell(name), value]))
      const setup = await startWith(spelt)
      const { asked, page, who, location } = await signIn(setup)
      expect(page.url, page.text).to.equal(setup.host.url)
      expect(page.trail.some((address) => address.startsWith(`${setup.host.url}old/callback?`))).to.equal(true)
      expect(who).to.deep.include({
        status: 200,
        name: 'alice@example.test',
        userGroups: ['mesh-admins', 'mesh-users'],
      })
      expect(Object.fromEntries(asked)).to.include({ client_id: 'old-id', scope: 'openid email groups' })
      for (const count of visits('old')) expect(count).to.be.above(0)
      expect(location).to.equal('https://idp.example/old-bye')
      const expected = Object.entries(PLACES)
        // Any spelling but the deprecated one is the current key: both mean the same.
        .filter(([name]) => name !== 'logoutURL' || spell(name) === name)
        .map(([, place]) => place)
      const named = warnings(setup).map(({ message }) => /Move it to ([\w.]+)\.$/.exec(message)?.[1])
      expect(named.toSorted()).to.deep.equal([...expected, 'groups.sync'].toSorted())
      expect(setup.authLog.every(({ domain }) => domain === '')).to.equal(true)
    })
  }

  it('all yield to their new places, at one warning each', async () => {
    const setup = await startWith((at) => {
      const { issuer: _, groups: __, ...old } = OLD(at)
      return { ...old, ...NEW(at) }
    })
    const { asked, page, who, location } = await signIn(setup)
    expect(page.url, page.text).to.equal(setup.host.url)
    expect(page.trail.some((address) => address.startsWith(`${setup.host.url}new/callback?`))).to.equal(true)
    expect(who).to.deep.include({ status: 200, name: 'Alice Example', userGroups: ['mesh-users'] })
    expect(Object.fromEntries(asked)).to.include({ client_id: CLIENT.client_id, scope: 'openid profile email groups' })
    expect(visits('old')).to.deep.equal([0, 0, 0])
    for (const count of visits('new')) expect(count).to.be.above(0)
    expect(location).to.equal('https://idp.example/new-bye')
    const named = warnings(setup).map(({ message }) => /ignored beside ([\w.]+)\./.exec(message)?.[1])
    expect(named.toSorted()).to.deep.equal(Object.values(PLACES).toSorted())
  })

  it('tenantid leads a preset to its tenant', async () => {
    const setup = await start({
      exactly: ({ hostUrl }) => ({
        client: { ...CLIENT, redirect_uri: `${hostUrl}auth-oidc-callback` },
        custom: { preset: 'azure' },
        tenantid: TENANT,
        newAccounts: true,
      }),
      idp: { path: `/${TENANT}/v2.0` },
      presets: (idp) => ({ azure: { login: new URL(idp.issuer).origin } }),
    })
    const person = setup.browser()
    expect((await person.login(setup.host.url, 'alice', 'alice-demo')).url).to.equal(setup.host.url)
    expect(warnings(setup)).to.have.length(1)
  })

  it('issuer as a text, groups and newAccounts are no deprecated keys', async () => {
    const setup = await start({ oidc: ({ idp }) => ({ issuer: idp.issuer, groups: {}, newAccounts: true }) })
    const person = setup.browser()
    expect((await person.login(setup.host.url, 'alice', 'alice-demo')).url).to.equal(setup.host.url)
    expect(setup.authLog.map(({ event }) => event)).to.deep.equal(['login'])
  })

  it('are all in this test', () => {
    expect(Object.keys(PLACES).toSorted()).to.deep.equal(DEPRECATED_NAMES.toSorted())
  })
})
