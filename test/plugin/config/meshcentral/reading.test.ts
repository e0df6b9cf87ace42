import { expect } from 'chai'
import { migrate } from '../../../../plugin/config/migration/migrate.ts'
import { readDomains } from '../../../../plugin/mount/read-domains.ts'

type Members = Readonly<Record<string, unknown>>

const OIDC = { issuer: 'https://idp.example.com', client: { client_id: 'mesh', client_secret: 'hunter2' } }
const SETTINGS = { cert: 'mesh.example.com' }
const basePathOf = (key: string) => (key === '' ? '/' : `/${key}/`)

/** Reads a configuration as MeshCentral does. */
const read = (config: Members) =>
  readDomains(
    { settings: SETTINGS, ...config },
    { meshCentral: true, hasRights: true, unknownKeys: 'warn', basePathOf },
  ).domains
const readOidc = (oidc: unknown, settings: Members = SETTINGS, domain: Members = {}) => {
  const [reading] = read({ settings, domains: { '': { ...domain, authStrategies: { oidc } } } })
  if (!reading) throw new Error('no domain was read')
  return reading
}

describe("MeshCentral's rules for reading a configuration", () => {
  // Shows: plugin 9.35.
  it('ignores domains and members if their names begin with an underscore', () => {
    const client = { ...OIDC.client, _client_secret: 'old' }
    const oidc = { ...OIDC, client, _scope: 'x', groups: { _required: ['a'], rights: { _staff: ['recordings'] } } }
    const domains = { '': { authStrategies: { oidc } }, _old: { dns: 'not a name', authStrategies: { oidc: 5 } } }
    const [reading, ...otherReadings] = read({ domains })
    expect(otherReadings).to.deep.equal([])
    expect(reading).to.deep.include({ problems: [], warnings: [] })
    expect(reading?.settings?.groups?.required).to.equal(null)
    // The name of a group may begin with an underscore.
    expect(reading?.settings?.groups?.rights).to.deep.equal([{ group: '_staff', rights: ['recordings'] }])
  })

  // Shows: plugin 9.35.
  it('domains inherit the strategy of domaindefaults, and warnings name that path', () => {
    const oidc = { issuer: OIDC.issuer, clientid: 'mesh', clientsecret: 'hunter2' }
    const domains = read({
      domaindefaults: { title: 'All', authStrategies: { oidc } },
      domains: { b: { title: 'B' }, own: { authStrategies: { oidc: { ...OIDC, logouturl: 'https://own.example/' } } } },
    })
    expect(domains.map(({ key, title }) => [key, title])).to.deep.equal([
      ['', 'All'],
      ['b', 'B'],
      ['own', 'All'],
    ])
    expect(domains.map(({ settings }) => settings?.client.redirect_uri)).to.deep.equal([
      'https://mesh.example.com/auth-oidc-callback',
      'https://mesh.example.com/b/auth-oidc-callback',
      'https://mesh.example.com/own/auth-oidc-callback',
    ])
    expect(domains[1]?.warnings.map(({ path }) => path)).to.include('domaindefaults.authStrategies.oidc.clientid')
    expect(domains[2]?.settings?.logoutUrl).to.equal('https://own.example/')
  })

  it('domains inherit members that are null from domaindefaults, and keep all others', () => {
    const oidc = { issuer: OIDC.issuer, clientid: 'mesh', clientsecret: 'hunter2' }
    const domains = read({
      domaindefaults: { title: 'All', authStrategies: { oidc }, share: null },
      domains: {
        '': null,
        nulls: { title: null, Title: undefined, authStrategies: null },
        own: { TITLE: 'Own', AUTHSTRATEGIES: { oidc } },
        saml: { authStrategies: { saml: {} } },
      },
    })
    expect(domains.map(({ key, title, warnings }) => [key, title, warnings[0]?.path])).to.deep.equal([
      ['', 'All', 'domaindefaults.authStrategies.oidc.clientid'],
      ['nulls', 'All', 'domaindefaults.authStrategies.oidc.clientid'],
      ['own', 'Own', 'domains.own.authStrategies.oidc.clientid'],
    ])
  })

  it('migrates the oidc object of domaindefaults once even if several domains share it', () => {
    const config = (oidc: object) => ({ domaindefaults: { authStrategies: { oidc } }, domains: { '': {}, b: {} } })
    const text = JSON.stringify(config({ issuer: OIDC.issuer, clientid: 'mesh', clientsecret: 'hunter2' }))
    expect(JSON.parse(migrate(text, { meshCentral: true }))).to.deep.equal(config(OIDC))
  })

  it('ignores a MeshCentral domain that only shares files', () => {
    expect(read({ domains: { '': { share: '/srv', authStrategies: { oidc: OIDC } } } })).to.deep.equal([])
  })

  // Shows: plugin 9.35.
  it('ignores a MeshCentral port that is a string, and uses the next port setting', () => {
    const originWith = (settings: Members) => readOidc(OIDC, { ...SETTINGS, ...settings }).settings?.origin
    expect(originWith({ port: 9000, AliasPort: '9001' })).to.equal('https://mesh.example.com:9000')
    expect(originWith({ port: '9000' })).to.equal('https://mesh.example.com')
    expect(originWith({ port: 9000, aliasPort: 9001 })).to.equal('https://mesh.example.com:9001')
  })

  // Shows: plugin 9.35.
  it('derives the host name from redirect_uri if settings.cert is missing', () => {
    const redirect_uri = 'https://mesh.example.com:8443/auth-oidc-callback'
    const { settings, warnings, problems } = readOidc({ ...OIDC, client: { ...OIDC.client, redirect_uri } }, {})
    expect(problems).to.deep.equal([])
    expect(warnings.map(({ code, path }) => `${code} ${path}`)).to.deep.equal(['host_name_missing settings.cert'])
    expect(settings?.origin).to.equal('https://mesh.example.com:8443')
    expect(settings?.hostName).to.equal('mesh.example.com')
    expect(settings?.client.post_logout_redirect_uri).to.equal('https://mesh.example.com:8443/login')
    expect(readOidc(OIDC, {}).problems.map(({ path }) => path)).to.deep.equal(['settings.cert'])
  })

  // Shows: plugin 9.35.
  it('reads a newAccounts that is not a boolean as false, and warns', () => {
    for (const newAccounts of ['true', 1, null, {}]) {
      const { settings, warnings } = readOidc({ ...OIDC, newAccounts })
      expect(settings?.newAccounts).to.equal(false)
      expect(warnings.map(({ code }) => code)).to.deep.equal(['not_boolean'])
    }
    const { warnings } = readOidc(OIDC, SETTINGS, { newaccounts: 'true' })
    expect(warnings.map(({ code, path }) => `${code} ${path}`)).to.deep.equal(['not_boolean domains[""].newAccounts'])
    expect(readOidc({ ...OIDC, newAccounts: true }, SETTINGS, { newAccounts: false }).warnings).to.deep.equal([])
  })

  it("accepts MeshCentral's own oidc members, and suggests names for misspelt members", () => {
    const newAccountSettings = { newAccountsUserGroups: ['a'], newAccountsRights: ['none'], newaccountrealms: ['b'] }
    expect(readOidc({ ...OIDC, ...newAccountSettings }).warnings).to.deep.equal([])
    const { warnings } = readOidc({ ...OIDC, newAccountsRealms: ['b'] })
    expect(warnings.map(({ remedy }) => remedy)).to.deep.equal(['Did you mean "newAccountRealms"?'])
  })

  it('hosts other than MeshCentral ignore domaindefaults and refuse string ports', () => {
    const config = { settings: { ...SETTINGS, aliasPort: '9000' }, domains: { '': { authStrategies: { oidc: OIDC } } } }
    expect(readDomains(config).domains[0]?.problems.map(({ path }) => path)).to.deep.equal(['settings.aliasPort'])
    expect(
      readDomains({ settings: SETTINGS, domaindefaults: { authStrategies: { oidc: OIDC } }, domains: {} }).domains,
    ).to.deep.equal([])
  })
})
