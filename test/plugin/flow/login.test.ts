import { expect } from 'chai'
import { CLIENT, setups } from '../../support/sign-in-setup.ts'

describe('login', () => {
  const start = setups()

  // Shows: plugin 1.4, 2.1, 2.10.
  it('a first login creates an account with an id that begins with ~oidc:', async () => {
    const { host, signIn, authLog } = await start()
    const { page, me } = await signIn()
    expect(page.url).to.equal(host.url)
    expect(me).to.deep.equal({
      status: 200,
      id: '~oidc:u-1001',
      name: 'Alice Example',
      email: 'alice@example.test',
      emailVerified: true,
      siteAdmin: false,
      userGroups: [],
    })
    expect(authLog.map(({ event }) => event)).to.deep.equal(['login'])
  })

  // Shows: plugin 2.3, 2.4, 10.7.
  // Shows: meshcentral 16.
  it('each login sends new values of state, nonce and PKCE challenge', async () => {
    const { host, redirectFrom } = await start()
    const [first, second] = [(await redirectFrom()).searchParams, (await redirectFrom()).searchParams]
    expect(Object.fromEntries(first)).to.include({
      client_id: 'mesh',
      response_type: 'code',
      scope: 'openid profile email',
      redirect_uri: `${host.url}auth-oidc-callback`,
      code_challenge_method: 'S256',
    })
    expect([...first.keys()].sort().join(' ')).to.equal(
      'client_id code_challenge code_challenge_method nonce redirect_uri response_type scope state',
    )
    for (const name of ['state', 'nonce', 'code_challenge']) {
      expect(first.get(name), name).to.match(/^[\w-]{43}$/)
      expect(first.get(name), name).to.not.equal(second.get(name))
    }
  })

  // Shows: plugin 10.8.
  it('requests UserInfo if the ID token lacks email_verified', async () => {
    const { idp, signIn } = await start({ idp: { claimsIn: 'both' } })
    const alice = { username: 'alice', password: 'alice-demo', sub: 'u-1001' }
    const claims = { name: 'Alice', email: 'alice@example.test' }
    for (const [more, expectedRequests] of [
      [{ email_verified: true }, 0],
      [{}, 1],
    ] as const) {
      const countBefore = idp.requests('userinfo')
      idp.setUser({ ...alice, claims: { ...claims, ...more } })
      await signIn()
      expect(idp.requests('userinfo') - countBefore).to.equal(expectedRequests)
    }
  })

  for (const claimsIn of ['id_token', 'userinfo'] as const) {
    // Shows: plugin 5.3, 5.4, 5.5, 10.8.
    it(`reads uuid, name and email from the configured claims in ${claimsIn}`, async () => {
      const { signIn, idp } = await start({
        oidc: {
          custom: { scope: 'openid profile email directory', claims: { uuid: 'oid', name: 'callsign', email: 'mail' } },
        },
        idp: { claimsIn, scopes: { directory: ['oid', 'callsign', 'mail'] } },
      })
      const claims = {
        name: 'Alice',
        email: 'alice@example.test',
        oid: 'D-7',
        callsign: 'N0CALL',
        mail: 'd@radio.test',
      }
      idp.setUser({ username: 'dora', password: 'dora-demo', sub: 'u-2001', claims })
      expect((await signIn('dora')).me).to.include({ id: '~oidc:D-7', name: 'N0CALL', email: 'd@radio.test' })
    })
  }

  // Shows: plugin 5.2.
  it('reads a claim path such as emails.0 as the first item of an array', async () => {
    const claims = { uuid: 'oid', email: 'emails.0' }
    const { signIn, idp } = await start({
      oidc: { custom: { scope: 'openid directory', claims } },
      idp: { claimsIn: 'id_token', scopes: { directory: ['oid', 'name', 'emails'] } },
    })
    const entries = { name: 'Dora', oid: 'D-7', emails: ['dora@radio.test', 'other@radio.test'] }
    idp.setUser({ username: 'dora', password: 'dora-demo', sub: 'u-2001', claims: entries })
    expect((await signIn('dora')).me).to.include({ id: '~oidc:D-7', name: 'Dora', email: 'dora@radio.test' })
  })

  // Shows: plugin 7.12, 7.14.
  // Shows: meshcentral 26.
  it('a login works with deprecated settings; each warning names the replacement', async () => {
    const setup = await start({
      exactly: ({ idp, hostUrl }) => ({
        issuer: idp.issuer,
        clientid: CLIENT.client_id,
        clientsecret: CLIENT.client_secret,
        callbackurl: `${hostUrl}auth-oidc-callback`,
        scope: ['openid', 'email', 'groups'],
        groups: { required: 'mesh-users', sync: { enabled: true } },
        newAccounts: true,
      }),
    })
    const { me } = await setup.signIn()
    expect(me).to.deep.include({ status: 200, userGroups: ['mesh-admins', 'mesh-users'] })
    const named = setup.lines('deprecated-key').map(({ message }) => /Move it to ([\w.]+)\.$/.exec(message)?.[1])
    const client = ['client.client_id', 'client.client_secret', 'client.redirect_uri']
    expect(named).to.have.members([...client, 'custom.scope', 'groups.sync'])
  })

  // Shows: meshcentral 11.
  it('logins in several parallel tabs of one browser all succeed', async () => {
    const { host, browser, isIn } = await start()
    const person = browser()
    const pages = await Promise.all(Array.from({ length: 3 }, () => person.get(`${host.url}auth-oidc`)))
    for (const page of pages.toReversed()) {
      expect((await person.signIn(page, 'alice', 'alice-demo')).url).to.equal(host.url)
    }
    expect(await isIn(person)).to.equal(true)
  })
})
