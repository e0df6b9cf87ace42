import { expect } from 'chai'
import { createClientFolder, makeKey } from '../../support/client-keys.ts'
import { CLIENT, setups } from '../../support/sign-in-setup.ts'

describe('status of single sign-on', () => {
  const start = setups()

  // Shows: plugin 9.41.
  it('status has issuer, discovery, age of keys and last login without asking the IdP', async () => {
    const { host, idp, clock, signIn } = await start()
    const startedAt = Date.now()
    await signIn()
    await clock.advance(5_000)
    const countBefore = idp.requests('discovery') + idp.requests('jwks')
    const [status, ...otherStatuses] = host.status()
    expect(idp.requests('discovery') + idp.requests('jwks'), 'asked for it').to.equal(countBefore)
    expect(otherStatuses).to.deep.equal([])
    expect(status).to.include({ domainKey: '', configured: true, issuer: idp.issuer })
    expect(status?.discovery?.failure).to.equal(null)
    expect(status?.discovery?.discoveredSince).to.be.at.most(status?.lastLogin ?? 0)
    expect(status?.keySetAgeMs).to.equal(5_000)
    expect(status?.lastLogin).to.be.within(startedAt, Date.now())
    expect(status?.refusals).to.deep.equal([])
  })

  // Shows: plugin 9.41.
  it('status lists the addresses to register at the IdP, including that of a key set', async () => {
    const { host } = await start()
    const origin = `https://127.0.0.1:${host.port}`
    expect(host.status()[0]?.addresses).to.deep.equal({
      redirect: `${host.url}auth-oidc-callback`,
      postLogout: `${host.url}login`,
      backchannelLogout: `${origin}/auth-oidc-backchannel-logout`,
      frontchannelLogout: `${origin}/auth-oidc-frontchannel-logout`,
      keySet: null,
    })
    const folder = await createClientFolder()
    const jwksFile = await folder.writeKeys([makeKey('P-256', { kid: 'one' })])
    const keyed = await start({ domain: { oidcCredentials: { jwksFile } } })
    await folder.remove()
    const addresses = keyed.host.status()[0]?.addresses
    expect(addresses?.keySet).to.equal(`https://127.0.0.1:${keyed.host.port}/auth-oidc-jwks`)
  })

  it('status gives reason and remedy of a failed discovery until discovery succeeds', async () => {
    const { host, idp, redirectFrom, signIn } = await start({
      oidc: (parts) => {
        parts.idp.faults.set('discovery', { kind: 'answer', status: 404 })
        return {}
      },
    })
    await redirectFrom()
    const failure = host.status()[0]?.discovery?.failure
    expect(failure?.remedy).to.contain("Write the IdP's issuer in `issuer`")
    expect(failure?.causeCode).to.equal(null)
    await redirectFrom()
    expect(host.status()[0]?.discovery).to.deep.equal({ discoveredSince: null, failure })
    idp.faults.clear('discovery')
    await signIn()
    const discovery = host.status()[0]?.discovery
    expect(discovery?.failure).to.equal(null)
    expect(discovery?.discoveredSince).to.be.at.least(failure?.since ?? Number.NaN)
  })

  // Shows: plugin 9.41.
  it('status lists refused logins with code, remedy and account, but no personal data', async () => {
    const { host, signIn } = await start({ oidc: { newAccounts: false } })
    await signIn()
    const { refusals = [], lastLogin } = host.status()[0] ?? {}
    expect(lastLogin).to.equal(null)
    expect(refusals).to.have.length(1)
    expect(refusals[0]).to.include({
      times: 1,
      event: 'login-failed',
      code: 'account_unknown',
      account: '~oidc:u-1001',
    })
    expect(refusals[0]?.remedy).to.include('`newAccounts`')
    expect(JSON.stringify(host.status())).not.to.match(/@|Alice/)
    expect(JSON.stringify(host.status())).not.to.contain(CLIENT.client_secret)
  })

  it('status reports a domain with configuration errors as not configured', async () => {
    const { host } = await start({ exactly: () => ({ issuer: 'nowhere' }) })
    expect(host.status()).to.have.length(1)
    expect(host.status()[0]).to.include({ domainKey: '', configured: false, issuer: null, addresses: null })
  })

  // Shows: plugin 9.41.
  it('the reference host serves the status page at /api/status to site admins only', async () => {
    const { host, browser, signIn } = await start({ oidc: { groups: { siteadmin: 'mesh-admins' } } })
    const statusFor = async (user?: string) => {
      const visitor = user === undefined ? browser() : (await signIn(user)).person
      return visitor.step(`${host.url}api/status`)
    }
    expect((await statusFor()).status).to.equal(401)
    expect((await statusFor('bob')).status).to.equal(403)
    const { status, body } = await statusFor('alice')
    expect(status).to.equal(200)
    const [{ keySetAgeMs: _, ...ownStatus } = { keySetAgeMs: null }] = host.status()
    expect(JSON.parse(body)).to.deep.include(ownStatus)
  })
})
