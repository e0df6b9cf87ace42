import { expect } from 'chai'
import { pluginLines } from './support/auth-log.ts'
import { CLIENT, type Members } from './support/mesh-setup.ts'
import { buttonsOf, isApp, isLoginPage, messageOn, signIn } from './support/session.ts'
import { useMesh } from './support/use-mesh.ts'

describe('the plugin in a MeshCentral server with many domains', () => {
  const setup = useMesh({
    idp: { path: '/a-tenant/v2.0' },
    settings: (issuer) => ({
      plugins: {
        enabled: true,
        list: ['meshcompanion'],
        meshcompanion: { presets: { azure: { login: new URL(issuer).origin } } },
      },
    }),
    domains: {
      '': {},
      path: {},
      dns: { members: { dns: 'other.mesh.test' } },
      azure: { oidc: { issuer: undefined, custom: { preset: 'azure', tenant_id: 'a-tenant' } } },
      google: { oidc: { issuer: undefined, custom: { preset: 'google' } } },
      tenant: { oidc: { issuer: undefined, custom: { tenant_id: 'a-tenant' } } },
      customer: { oidc: { issuer: undefined, custom: { customer_id: 'C1' } } },
      kept: { oidc: { custom: { tenant_id: 'another-tenant' } } },
      button: { oidc: { custom: { buttonText: 'Enter', buttonIconUrl: '/corp.png' } } },
      spelled: { oidc: { custm: {}, custom: { sinc: true } } },
      without: { oidc: null },
      both: { oidc: { clientid: 'somebody else', clientsecret: 'an-old-secret' } },
      mistake: { oidc: { groups: { required: 7 } } },
      text: { exactly: () => 'https://idp.example.test' },
    },
  })
  const expectSignIn = async (domain: string) => {
    const page = await signIn(setup, setup.browser(), setup.person(), { domain })
    expect(isApp(page), domain).to.equal(true)
  }

  it('a login at one domain, by path or host name, does not sign in to another domain', async () => {
    for (const domain of ['', 'path', 'dns']) {
      const person = setup.person()
      const browser = setup.browser()
      const page = await signIn(setup, browser, person, { domain })
      expect(isApp(page), domain).to.equal(true)
      expect(page.url, domain).to.deep.equal(setup.urlOf(domain))
      expect((await setup.account(person, domain)).domain).to.equal(domain)
      const otherDomain = domain === 'path' ? '' : 'path'
      expect(isApp(await browser.get(setup.urlOf(otherDomain))), `${domain} at ${otherDomain}`).to.equal(false)
    }
  })

  it('a user signs in to domains with preset azure, tenant_id, or tenant_id and issuer', async () => {
    // The domains `azure` and `tenant` get their issuer from the base address in the plugin's settings.
    for (const domain of ['azure', 'tenant', 'kept']) await expectSignIn(domain)
  })

  // Shows: meshcentral 26.
  it('accepts unknown members of the oidc and custom objects, and warns of them', async () => {
    await expectSignIn('spelled')
    const warnings = (await pluginLines(setup)).filter(
      ({ event, domain }) => event === 'configuration-warning' && domain === 'spelled',
    )
    for (const name of ['custm', 'sinc']) {
      expect(warnings.filter(({ message }) => message.includes(name))).to.have.length(1)
    }
  })

  it("each domain's login page shows the same button as without the plugin", async () => {
    for (const [buttons, domains] of [
      [['oidc'], ['', 'path', 'dns', 'button']],
      [['oidc-azure'], ['azure', 'tenant', 'kept']],
      [['oidc-google'], ['google', 'customer']],
      [[], ['without']],
    ] as const) {
      for (const domain of domains) expect(await buttonsOf(setup, domain), domain).to.deep.equal(buttons)
    }
    expect((await setup.browser().step(`${setup.urlOf('without')}auth-oidc`)).status).to.equal(404)
  })

  it('a domain with configuration errors logs them, and has no button and no login', async () => {
    const lines = await pluginLines(setup)
    for (const domain of ['mistake', 'text']) {
      expect(await buttonsOf(setup, domain), domain).to.deep.equal([])
      expect(
        lines
          .filter((line) => line.event === 'configuration-error' && line.domain === domain)
          .map(({ level }) => level),
        domain,
      ).to.include('ERROR')
      expect(
        lines.some(({ event, message }) => event === 'not-taken-over' && message.includes(`"${domain}"`)),
        domain,
      ).to.equal(true)
    }
    const page = await setup.browser().get(`${setup.urlOf('mistake')}auth-oidc`)
    expect(isLoginPage(page)).to.equal(true)
    expect(messageOn(page)).to.equal(111)
  })

  it('a visitor who is not signed in gets no session cookie', async () => {
    for (const domain of ['', 'path', 'without']) {
      const headersOf = async (path: string) => (await setup.browser().step(`${setup.urlOf(domain)}${path}`)).headers
      expect(await headersOf('scripts/common-0.0.1.js')).not.to.have.property('set-cookie')
      expect(await headersOf('login')).not.to.have.property('set-cookie')
    }
  })

  // Shows: meshcentral 26.
  it("neither MeshCentral's authentication log nor its console contains a secret", async () => {
    const everything = `${(await setup.data.authLog()).join('\n')}${setup.server().output()}`
    for (const secret of [CLIENT.client_secret, 'an-old-secret']) expect(everything).not.to.include(secret)
  })
})

describe('the plugin in a MeshCentral server with a strategy in domaindefaults', () => {
  const setup = useMesh({
    domainDefaults: (issuer) => ({
      newAccounts: true,
      authStrategies: { oidc: { issuer, client: CLIENT, newAccounts: true, groups: { sync: true } } },
    }),
    domains: {
      '': { oidc: null },
      sales: { oidc: null },
      dns: { oidc: null, members: { dns: 'other.mesh.test' } },
      own: {},
    },
  })

  it('users sign in to all domains that inherit domaindefaults, also after a restart', async () => {
    // Each address follows from the name of the server or domain; `own` configures its own address.
    const baseOf = (domain: string) =>
      setup.urlOf(domain).replace('localhost', domain === 'own' ? 'localhost' : '127.0.0.1')
    for (const isAgain of [false, true]) {
      if (isAgain) await setup.restart()
      const all = ['', 'sales', 'dns', 'own']
      await setup.register({ redirect_uris: all.map((domain) => `${baseOf(domain)}auth-oidc-callback`) })
      for (const domain of all) {
        expect(await buttonsOf(setup, domain), domain).to.deep.equal(['oidc'])
        const person = setup.person({ groups: ['staff'] })
        const page = await signIn(setup, setup.browser(), person, { path: `${baseOf(domain)}auth-oidc` })
        expect(isApp(page), domain).to.equal(true)
        expect(page.url, domain).to.deep.equal(baseOf(domain))
        const groups = domain === 'own' ? 0 : 1
        const hasGroups = (record: Members) => Object.keys(record.links ?? {}).length === groups
        expect((await setup.account(person, domain, hasGroups)).domain).to.equal(domain)
      }
    }
    expect(
      (await pluginLines(setup)).filter(({ level, domain }) => level !== 'INFO' && domain !== 'own'),
    ).to.deep.equal([])
  })
})
