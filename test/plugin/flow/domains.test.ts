import { expect } from 'chai'
import { type Idp, startIdp } from '../../../fixtures/idp/server.ts'
import { type SeveralDomains, startSeveralDomains } from '../../support/several-domains.ts'
import { answerFromIdp, CLIENT, whoAmI } from '../../support/sign-in-setup.ts'

const NAMES = ['mesh.test', 'lab.mesh.test', 'field.example.test'] as const
const [MESH, LAB, FIELD] = NAMES

describe('several domains', () => {
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
    return { person, page, who: await whoAmI(person, server.urlOf(name)) }
  }

  // Shows: plugin 1.1, 1.2, 1.3, 2.2, 4.4, 8.8.
  it('have each a title and a strategy of its own, and addresses that follow from settings.cert, dns and the port', async () => {
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
      const asked = new URL((await server.browser().step(`${server.urlOf(name)}auth-oidc`)).headers.location ?? '')
      expect(asked.searchParams.get('redirect_uri')).to.equal(`https://${name}:${server.host.port}/auth-oidc-callback`)
      expect((await server.browser().get(`${server.urlOf(name)}login`)).text).to.include(`Sign in to ${title}`)
      const { person, page, who } = await signIn(name)
      expect(page.url).to.equal(server.urlOf(name))
      expect(page.trail.some((address) => address.startsWith(`${idp?.issuer}/`))).to.equal(true)
      expect(who).to.include({ status: 200, id: '~oidc:u-1001', siteAdmin })
      const goodbye = new URL((await person.step(`${server.urlOf(name)}logout`)).headers.location ?? '')
      expect(goodbye.origin + goodbye.pathname).to.equal(`${idp?.issuer}/session/end`)
      expect(goodbye.searchParams.get('post_logout_redirect_uri')).to.equal(`${server.urlOf(name)}login`)
    }
    expect(server.authLog.map(({ domain }) => domain)).to.deep.equal(['', 'lab', 'field'])
  })

  // Shows: plugin 8.8.
  it('are told apart by host name in any letter case, with a dot at its end too, and the default one takes the rest', async () => {
    await start({ '': oidc(idps[0]), lab: { dns: LAB, ...oidc(idps[1]) } })
    const askedAs = async (host: string) => {
      const { headers } = await server
        .browser()
        .step(`${server.urlOf(MESH)}auth-oidc`, { headers: { host: `${host}:${server.host.port}` } })
      return new URL(headers.location ?? '').origin
    }
    for (const name of ['LAB.Mesh.Test', 'lab.mesh.test.']) expect(await askedAs(name)).to.equal(idps[1]?.issuer)
    for (const other of [MESH, 'somewhere.example', '127.0.0.1']) expect(await askedAs(other)).to.equal(idps[0]?.issuer)
  })

  // Shows: plugin 8.8.
  it('without a strategy of their own never use the one of another', async () => {
    await start({ '': oidc(idps[0]), lab: { dns: LAB } })
    const answer = await server.browser().step(`${server.urlOf(LAB)}auth-oidc`)
    expect(answer.status).to.equal(404)
    expect((await server.browser().get(`${server.urlOf(LAB)}login`)).text).to.include('no way to sign in')
  })

  // Shows: plugin 1.2, 8.9.
  it('go on where the configuration of another is broken: that one alone is refused', async () => {
    await start({
      '': oidc(idps[0], { client: { client_id: 'mesh' } }),
      lab: { dns: LAB, ...oidc(idps[1]) },
      // Every additional domain needs its `dns`.
      field: oidc(idps[0]),
    })
    expect((await signIn(LAB)).who).to.include({ status: 200, id: '~oidc:u-1001' })
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
  it('go on where the IdP of another is dead: that one alone says so', async () => {
    await idps[1]?.down()
    await start({ '': oidc(idps[0]), lab: { dns: LAB, ...oidc(idps[1]) } })
    const dead = await server.browser().get(`${server.urlOf(LAB)}auth-oidc`)
    expect(dead.url).to.match(/failure=provider_unreachable$/)
    expect((await signIn(MESH)).who.status).to.equal(200)
    expect(server.authLog.map(({ domain, event }) => [domain, event])).to.deep.equal([
      ['lab', 'login-failed'],
      ['', 'login'],
    ])
  })

  // Shows: plugin 8.9.
  it('go on where the IdP of another hangs', async () => {
    idps[1]?.faults.set('discovery', { kind: 'hang' })
    await start({ '': oidc(idps[0]), lab: { dns: LAB, ...oidc(idps[1]) } })
    const waiting = server.browser()
    const hanging = waiting.step(`${server.urlOf(LAB)}auth-oidc`).catch((error: unknown) => error)
    expect((await signIn(MESH)).who.status).to.equal(200)
    waiting.close()
    await hanging
  })

  // Shows: plugin 10.11.
  it('take no answer to a login of another (mix-up), with or without its cookies', async () => {
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

  describe('where the cookie of a session comes along to another', () => {
    /**
     * No browser does that, unless a server says so. @returns the answer of the other, and what the session's own says
     * afterwards
     */
    const askOther = async (path: string) => {
      await start({ '': oidc(idps[0]), lab: { dns: LAB, ...oidc(idps[0]) } })
      const { person } = await signIn(MESH)
      const cookie = person.cookies.header(new URL(server.urlOf(MESH))) ?? ''
      const answer = await server.browser().step(server.urlOf(LAB) + path, { headers: { cookie } })
      return { answer, status: (await whoAmI(person, server.urlOf(MESH))).status }
    }

    it('end it by a logout, and hand nothing of it to the IdP of that one', async () => {
      const { answer, status } = await askOther('logout')
      const sent = new URL(answer.headers.location ?? '').searchParams
      expect([...sent.keys()].toSorted()).to.deep.equal(['client_id', 'post_logout_redirect_uri', 'state'])
      expect([idps[0]?.requests('revocation'), status]).to.deep.equal([0, 401])
    })

    it('do not end it by a logout in a frame', async () => {
      const { answer, status } = await askOther('auth-oidc-frontchannel-logout')
      expect([answer.status, status]).to.deep.equal([200, 200])
    })

    // Shows: plugin 8.10.
    it('do not let a session of one in at another', async () => {
      const { answer, status } = await askOther('api/me')
      expect([answer.status, status]).to.deep.equal([401, 200])
    })
  })
})
