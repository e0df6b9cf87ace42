import { expect } from 'chai'
import fc from 'fast-check'
import { goBack } from '../../../plugin/doctor/going-back/go-back.ts'
import { readDomains } from '../../../plugin/mount/read-domains.ts'
import { validOidc } from '../config/valid-oidc.ts'

type Members = Readonly<Record<string, unknown>>

const CLIENT = { client_id: 'mesh', client_secret: 'hunter2' }
const ISSUER = 'https://idp.example.com'
const SETTINGS = { cert: 'mesh.example.com', plugins: { enabled: true, list: ['other', 'meshcompanion'] } }

function back(config: Members) {
  const options = { meshCentral: true, unknownKeys: 'warn', inferPresets: true, hasRights: true } as const
  const basePathOf = (key: string) => (key === '' ? '/' : `/${key}/`)
  const { domains } = readDomains(config, { ...options, basePathOf })
  const settings = new Map(domains.flatMap((domain) => (domain.settings ? [[domain.key, domain.settings]] : [])))
  const { text, differences } = goBack(config, settings)
  return { config: JSON.parse(text), differences }
}

/** Returns the `oidc` object for the built-in strategy, and the paths of settings that it treats differently. */
function backWith(oidc: Members, domain: Members = {}) {
  const whole = { issuer: ISSUER, client: CLIENT, ...oidc }
  const { config, differences } = back({
    settings: SETTINGS,
    domains: { '': { ...domain, authStrategies: { oidc: whole } } },
  })
  const ofDomain = differences.get('') ?? []
  const textOf = (path: string) => ofDomain.find((difference) => difference.path === path)?.text
  return { oidc: config.domains[''].authStrategies.oidc, paths: ofDomain.map(({ path }) => path), textOf }
}

describe('mesh-companion-check --back', () => {
  // Shows: plugin 9.37.
  it('the checker with --back keeps the settings that the built-in strategy also reads', () => {
    const oidc = {
      issuer: ISSUER,
      client: CLIENT,
      groups: { required: ['a'], siteadmin: ['b'], sync: true },
      newAccounts: true,
    }
    expect(backWith(oidc)).to.deep.include({ oidc, paths: [] })
  })

  it('the checker with --back writes groups as arrays, never as strings', () => {
    const { oidc, paths } = backWith({
      groups: { siteadmin: 'mesh-admins', required: 'mesh-users', sync: { filter: 'a' } },
    })
    expect(oidc.groups).to.deep.equal({ siteadmin: ['mesh-admins'], required: ['mesh-users'], sync: { filter: ['a'] } })
    expect(paths).to.deep.equal([])
  })

  it('a configuration made by --back admits no user if groups.required was empty', () => {
    const { oidc, paths } = backWith({ groups: { required: [] } })
    expect(oidc.groups.required).to.have.length(1)
    expect(oidc.groups.required[0]).not.to.equal(oidc.groups.required[0].trim())
    expect(paths).to.deep.equal(['groups.required'])
  })

  it('the checker with --back replaces an empty or false groups.scope by openid', () => {
    for (const scope of ['', false]) {
      const { oidc, paths } = backWith({ groups: { scope, required: ['a'] } })
      expect(oidc.groups.scope).to.equal('openid')
      expect(paths).to.deep.equal(['groups.scope'])
    }
  })

  for (const [condition, custom, client, scope] of [
    ['without a preset', {}, CLIENT, 'groups'],
    ['with a preset', { preset: 'azure', tenant_id: 'contoso.example' }, CLIENT, 'Group.Read.All'],
    [
      'if the client id selects a preset',
      { preset: null },
      { ...CLIENT, client_id: 'mesh.apps.googleusercontent.com' },
      'https://www.googleapis.com/auth/cloud-identity.groups.readonly',
    ],
  ] as const) {
    it(`--back names the scope that an empty groups.scope would request ${condition}`, () => {
      const { textOf } = backWith({ client, custom, groups: { scope: '', required: ['a'] } })
      expect(textOf('groups.scope')).to.include(`cannot be empty, or the built-in strategy requests "${scope}".`)
    })
  }

  it('--back warns that the built-in strategy with a preset reads no groups claim', () => {
    const custom = { preset: 'azure', tenant_id: 'contoso.example' }
    const { textOf } = backWith({ custom, groups: { claim: 'groups', required: ['a'] } })
    expect(textOf('groups.claim')).to.match(/^is not read: with the preset "azure".*display name.*"Group\.Read\.All"/)
    const googleId = { ...CLIENT, client_id: 'mesh.apps.googleusercontent.com' }
    const inferred = backWith({ client: googleId, custom: { preset: null }, groups: { claim: 'groups' } })
    expect(inferred.textOf('groups.claim')).to.match(/^is not read: with the preset "google"/)
    expect(backWith({ groups: { claim: 'groups', required: ['a'] } }).textOf('groups.claim')).to.equal(undefined)
  })

  it('the checker with --back sets groups.sync to false if groups.sync.filter is empty', () => {
    expect(backWith({ groups: { sync: { filter: [] } } }).oidc.groups.sync).to.equal(false)
  })

  // Shows: plugin 9.37.
  it('the checker with --back removes and lists settings that only the plugin reads', () => {
    const { oidc, paths } = backWith({
      client: {
        ...CLIENT,
        response_types: ['code id_token'],
        dpop_bound_access_tokens: true,
        post_logout_redirect_uri: false,
      },
      custom: {
        required_acr: 'mfa',
        authorization_params: { prompt: 'login' },
        claims: { uuid: 'oid' },
        scope: 'openid',
      },
      groups: { siteadmin: ['a'], revokeAdmin: false, rights: { staff: ['recordings'] }, claim: 'realm_access.roles' },
      newAccounts: false,
    })
    expect(oidc).to.deep.equal({
      issuer: ISSUER,
      client: CLIENT,
      custom: { scope: ['openid'], claims: { uuid: 'oid' } },
      groups: { siteadmin: ['a'], claim: 'realm_access.roles' },
      newAccounts: false,
    })
    expect(paths).to.have.members([
      'client.response_types',
      'client.dpop_bound_access_tokens',
      'client.post_logout_redirect_uri',
      'custom.scope',
      'custom.claims.uuid',
      'custom.authorization_params',
      'custom.required_acr',
      'groups.revokeAdmin',
      'groups.rights',
      'groups.claim',
      'newAccounts',
    ])
  })

  it('the checker with --back writes no issuer if custom.preset selects a preset', () => {
    const custom = { preset: 'azure', tenant_id: 'contoso.example' }
    expect(backWith({ custom }).oidc).to.deep.equal({ client: CLIENT, custom })
    const inferred = { tenant_id: 'contoso.example' }
    expect(backWith({ custom: inferred }).oidc.issuer).to.equal(ISSUER)
    expect(backWith({ custom: { preset: null, tenant_id: 'x' } }).oidc.custom).to.equal(undefined)
  })

  it('the checker with --back writes lists as arrays and replaces deprecated keys', () => {
    const oidc = {
      issuer: { issuer: ISSUER, scopes_supported: 'openid, profile' },
      clientid: 'mesh',
      clientsecret: 'hunter2',
      client: undefined,
    }
    expect(backWith(oidc).oidc).to.deep.equal({
      issuer: { issuer: ISSUER, scopes_supported: ['openid', 'profile'] },
      client: CLIENT,
    })
  })

  it('--back keeps members that neither the plugin nor the built-in strategy reads', () => {
    const { oidc } = backWith({ _note: 'x', newAccountsRights: ['none'] })
    expect(oidc)
      .to.include({ _note: 'x' })
      .and.deep.include({ newAccountsRights: ['none'] })
  })

  it('the checker with --back removes only the plugin from settings.plugins', () => {
    const plugins = { ...SETTINGS.plugins, meshcompanion: { sessionCheckMinutes: 1 } }
    const { config } = back({ settings: { ...SETTINGS, plugins }, domains: {}, smtp: { host: 'x' } })
    expect(config).to.deep.equal({
      settings: { cert: 'mesh.example.com', plugins: { enabled: true, list: ['other'] } },
      domains: {},
      smtp: { host: 'x' },
    })
  })

  it('the checker with --back moves oidc from domainDefaults into each domain', () => {
    const oidc = { issuer: ISSUER, client: CLIENT }
    const { config } = back({
      settings: SETTINGS,
      domainDefaults: { title: 'All', authStrategies: { oidc, saml: {} } },
      domains: { b: {} },
    })
    expect(config.domainDefaults).to.deep.equal({ title: 'All' })
    for (const key of ['', 'b']) expect(config.domains[key].authStrategies).to.deep.equal({ saml: {}, oidc })
  })

  it('the checker with --back warns of dns if the default domain has no oidc object', () => {
    const domains = { own: { dns: 'own.example.com', authStrategies: { oidc: { issuer: ISSUER, client: CLIENT } } } }
    const { differences } = back({ settings: SETTINGS, domains })
    expect(differences.get('own')?.map(({ path }) => path)).to.deep.equal(['dns'])
    expect(backWith({}, { oidcCredentials: {} }).paths).to.deep.equal(['oidcCredentials'])
  })

  // Shows: plugin 9.37.
  it('the checker with --back never admits more users or site admins than before', () => {
    fc.assert(
      fc.property(validOidc, (oidc) => {
        const config = { settings: SETTINGS, domains: { '': { authStrategies: { oidc } } } }
        const options = { meshCentral: true, unknownKeys: 'warn', inferPresets: true } as const
        const groups = readDomains(config, options).domains[0]?.settings?.groups
        const written = back(config).config.domains[''].authStrategies.oidc.groups
        if (groups?.required) {
          expect(written.required).to.be.an('array').that.has.length.above(0)
          if (groups.required.length > 0) expect(written.required).to.deep.equal(groups.required)
        }
        if (groups?.siteadmin) expect(written.siteadmin).to.deep.equal(groups.siteadmin)
      }),
    )
  })
})
