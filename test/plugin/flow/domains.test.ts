import { expect } from 'chai'
import { type Idp, startIdp } from '../../../fixtures/idp/server.ts'
import { type SeveralDomains, startSeveralDomains } from '../../support/several-domains.ts'
import { answerFromIdp, CLIENT, whoAmI } from '../../support/sign-in-setup.ts'

const NAMES = ['mesh.test', 'lab.mesh.test', 'field.example.test'] as const
const [MESH, LAB, FIELD] = NAMES

describe('several domains with single sign-on', () => {
  let idps: Idp[]
  let server: SeveralDomains
  beforeEach(async () => {
    idps = await Promise.all([startIdp(), startIdp()])
  })
  afterEach(async () => {
    await server.close()
    for (const idp of idps) await idp.close()
  })

  const oidc = (idp: Idp | undefined, more: object = {}) => ({
    authStrategies: { oidc: { issuer: idp?.issuer, client: CLIENT, newAccounts: true, ...more } },
  })
  async function start(domains: Readonly<Record<string, object>>) {
    server = await startSeveralDomains(NAMES, domains)
    for (const idp of idps) {
      await idp.addClient({
        ...CLIENT,
        redirect_uris: NAMES.map((name) => `${server.urlOf(name)}auth-oidc-callback`),
        post_logout_redirect_uris: NAMES.map((name) => `${server.urlOf(name)}login`),
      })
    }
    return server
  }
  const signIn = async (name: string, username = 'alice') => {
    const person = server.browser()
    const page = await person.login(server.urlOf(name), username, `${username}-demo`)
    return { person, page, user: await whoAmI(person, server.urlOf(name)) }
  }

  // Shows: plugin 1.1, 1.2, 1.3, 2.2, 4.4, 8.8.
  it('each domain signs users in with its own title, IdP, group rules and addresses', async () => {
    await start({
      '': { title: 'Mesh', ...oidc(idps[0]) },
      lab: { title: 'Lab', dns: LAB, ...oidc(idps[1], { groups: { siteadmin: 'mesh-admins' } }) },
      field: { title: 'Field', dns: FIELD.toUpperCase(), ...oidc(idps[0]) },
    })
    for (const [name, title, idp, siteAdmin] of [
      [MESH, 'Mesh', idps[0], false],
      [LAB, 'Lab', idps[1], true],
      [FIELD, 'Field', idps[0], false],
    ] as const) {
      const authorization = new URL(
        (await server.browser().step(`${server.urlOf(name)}auth-oidc`)).headers.location ?? '',
      )
      expect(authorization.searchParams.get('redirect_uri')).to.equal(
        `https://${name}:${server.host.port}/auth-oidc-callback`,
      )
      expect((await server.browser().get(`${server.urlOf(name)}login`)).text).to.include(`Sign in to ${title}`)
      const { person, page, user } = await signIn(name)
      expect(page.url).to.equal(server.urlOf(name))
      expect(page.trail.some((address) => address.startsWith(`${idp?.issuer}/`))).to.equal(true)
      expect(user).to.include({ status: 200, id: '~oidc:u-1001', siteAdmin })
      const goodbye = new URL((await person.step(`${server.urlOf(name)}logout`)).headers.location ?? '')
      expect(goodbye.origin + goodbye.pathname).to.equal(`${idp?.issuer}/session/end`)
      expect(goodbye.searchParams.get('post_logout_redirect_uri')).to.equal(`${server.urlOf(name)}login`)
    }
    expect(server.authLog.map(({ domain }) => domain)).to.deep.equal(['', 'lab', 'field'])
  })

  // Shows: plugin 8.8.
  it('selects the domain by host name in any letter case, else the default domain', async () => {
    await start({ '': oidc(idps[0]), lab: { dns: LAB, ...oidc(idps[1]) } })
    const issuerFor = async (host: string) => {
      const { headers } = await server
        .browser()
        .step(`${server.urlOf(MESH)}auth-oidc`, { headers: { host: `${host}:${server.host.port}` } })
      return new URL(headers.location ?? '').origin
    }
    for (const name of ['LAB.Mesh.Test', 'lab.mesh.test.']) expect(await issuerFor(name)).to.equal(idps[1]?.issuer)
    for (const name of [MESH, 'somewhere.example', '127.0.0.1']) expect(await issuerFor(name)).to.equal(idps[0]?.issuer)
  })

  // Shows: plugin 8.8.
  it("a domain without a strategy does not use another domain's strategy", async () => {
    await start({ '': oidc(idps[0]), lab: { dns: LAB } })
    const answer = await server.browser().step(`${server.urlOf(LAB)}auth-oidc`)
    expect(answer.status).to.equal(404)
    expect((await server.browser().get(`${server.urlOf(LAB)}login`)).text).to.include('no way to sign in')
  })

  // Shows: plugin 1.2, 8.9.
  it('a domain works although another domain has configuration errors', async () => {
    await start({
      '': oidc(idps[0], { client: { client_id: 'mesh' } }),
      lab: { dns: LAB, ...oidc(idps[1]) },
      // Every additional domain needs a `dns`.
      field: oidc(idps[0]),
    })
    expect((await signIn(LAB)).user).to.include({ status: 200, id: '~oidc:u-1001' })
    const page = await server.browser().get(`${server.urlOf(MESH)}auth-oidc`)
    expect(page.url).to.match(/failure=not_configured$/)
    expect(page.text).to.include('no way to sign in')
    const errors = server.authLog.filter(({ event }) => event === 'configuration-error')
    expect(errors.map(({ domain, fields }) => [domain, fields.path])).to.deep.equal([
      ['', 'domains[""].authStrategies.oidc.client.client_secret'],
      ['field', 'domains.field.dns'],
    ])
  })

  // Shows: plugin 8.9.
  // Shows: meshcentral 5.
  it("a domain works although another domain's IdP is down", async () => {
    await idps[1]?.down()
    await start({ '': oidc(idps[0]), lab: { dns: LAB, ...oidc(idps[1]) } })
    const dead = await server.browser().get(`${server.urlOf(LAB)}auth-oidc`)
    expect(dead.url).to.match(/failure=provider_unreachable$/)
    expect((await signIn(MESH)).user.status).to.equal(200)
    expect(server.authLog.map(({ domain, event }) => [domain, event])).to.deep.equal([
      ['lab', 'login-failed'],
      ['', 'login'],
    ])
  })

  // Shows: plugin 8.9.
  it("a user signs in to one domain while another domain's IdP does not answer", async () => {
    idps[1]?.faults.set('discovery', { kind: 'hang' })
    await start({ '': oidc(idps[0]), lab: { dns: LAB, ...oidc(idps[1]) } })
    const waiting = server.browser()
    const hanging = waiting.step(`${server.urlOf(LAB)}auth-oidc`).catch((error: unknown) => error)
    expect((await signIn(MESH)).user.status).to.equal(200)
    waiting.close()
    await hanging
  })

  // Shows: plugin 10.11.
  it('refuses the answer to a login of another domain, even with its cookies (mix-up)', async () => {
    await start({ '': oidc(idps[0]), lab: { dns: LAB, ...oidc(idps[0]) } })
    const person = server.browser()
    const answer = new URL(await answerFromIdp(person, server.urlOf(MESH), 'alice'))
    const cookie = person.cookies.header(answer) ?? ''
    answer.host = new URL(server.urlOf(LAB)).host
    for (const [headers, code] of [
      [{}, 'transaction_missing'],
      [{ cookie }, 'transaction_foreign'],
    ] as const) {
      const outcome = await person.step(answer.href, { headers })
      expect(outcome.headers.location).to.match(/^\/login\?failure=/)
      expect(server.authLog.at(-1)).to.deep.include({ domain: 'lab', event: 'login-failed' })
      expect(server.authLog.at(-1)?.fields).to.include({ code })
    }
    for (const name of [MESH, LAB]) expect((await whoAmI(person, server.urlOf(name))).status).to.equal(401)
    expect(idps[0]?.requests('token')).to.equal(0)
  })

  describe('session cookie sent to another domain', () => {
    /**
     * Sends the session cookie of one domain to another. No browser does that unless a server makes it.
     * @returns the answer of the other domain, and the status of the session afterwards
     */
    const requestOther = async (path: string) => {
      await start({ '': oidc(idps[0]), lab: { dns: LAB, ...oidc(idps[0]) } })
      const { person } = await signIn(MESH)
      const cookie = person.cookies.header(new URL(server.urlOf(MESH))) ?? ''
      const answer = await server.browser().step(server.urlOf(LAB) + path, { headers: { cookie } })
      return { answer, status: (await whoAmI(person, server.urlOf(MESH))).status }
    }

    it('a logout at another domain ends the session but sends the IdP no id_token_hint', async () => {
      const { answer, status } = await requestOther('logout')
      const sent = new URL(answer.headers.location ?? '').searchParams
      expect([...sent.keys()].toSorted()).to.deep.equal(['client_id', 'post_logout_redirect_uri', 'state'])
      expect(idps[0]?.requests('revocation')).to.equal(0)
      expect(status).to.equal(401)
    })

    it('a front-channel logout at one domain keeps the session of another domain', async () => {
      const { answer, status } = await requestOther('auth-oidc-frontchannel-logout')
      expect({ otherDomain: answer.status, sameDomain: status }).to.deep.equal({ otherDomain: 200, sameDomain: 200 })
    })

    // Shows: plugin 8.10.
    it('refuses the session of one domain at another domain', async () => {
      const { answer, status } = await requestOther('api/me')
      expect({ otherDomain: answer.status, sameDomain: status }).to.deep.equal({ otherDomain: 401, sameDomain: 200 })
    })
  })
})
