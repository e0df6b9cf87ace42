import { expect } from 'chai'
import { type Doors, openDoors } from '../../support/doors.ts'
import { type Places, setups } from '../../support/sign-in-setup.ts'

describe('deprecated keys in a whole login', () => {
  const start = setups()
  let doors: Doors
  beforeEach(async () => {
    doors = await openDoors()
  })
  afterEach(async () => {
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

  it('all work, written in lower case, at one warning each that names the new place', async () => {
    const setup = await start({
      exactly: (at) => Object.fromEntries(Object.entries(OLD(at)).map(([name, value]) => [name.toLowerCase(), value])),
      idp: { claimsIn: 'userinfo' },
    })
    await setup.idp.addClient({
      client_id: 'old-id',
      client_secret: 'an-old-client-secret-of-the-tests',
      redirect_uris: [`${setup.host.url}old/callback`],
    })
    expect(Object.fromEntries((await setup.asked()).searchParams)).to.include({
      client_id: 'old-id',
      scope: 'openid email groups',
    })
    const { person, page, who } = await setup.signIn()
    expect(page.url, page.text).to.equal(setup.host.url)
    expect(page.trail.some((address) => address.startsWith(`${setup.host.url}old/callback?`))).to.equal(true)
    expect(who).to.deep.include({
      status: 200,
      name: 'alice@example.test',
      userGroups: ['mesh-admins', 'mesh-users'],
    })
    for (const door of ['authorization', 'token', 'userinfo']) expect(doors.visits(`old-${door}`)).to.be.above(0)
    expect((await setup.asked('logout', person)).href).to.equal('https://idp.example/old-bye')
    const named = setup.lines('deprecated-key').map(({ message }) => /Move it to ([\w.]+)\.$/.exec(message)?.[1])
    // In lower case `logouturl` is the current key: both mean the same.
    expect(named.toSorted()).to.deep.equal([
      'client.client_id',
      'client.client_secret',
      'client.redirect_uri',
      'custom.customer_id',
      'custom.scope',
      'custom.tenant_id',
      'groups.sync',
      'issuer.authorization_endpoint',
      'issuer.token_endpoint',
      'issuer.userinfo_endpoint',
    ])
  })
})
