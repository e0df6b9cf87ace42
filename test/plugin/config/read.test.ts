import { expect } from 'chai'
import fc from 'fast-check'
import { readDomains } from '../../../plugin/mount/read-domains.ts'
import { CLIENT, ISSUER, MINIMAL, problemPaths, readOne, settingsOf, warningsOf } from './single-domain.ts'
import { validOidc } from './valid-oidc.ts'

const SETTINGS = { cert: 'mesh.example.com' }
const domainOf = (index: number, oidc: unknown) => ({ dns: `d${index}.example.com`, authStrategies: { oidc } })

describe('settings in authStrategies.oidc', () => {
  it('accepts a configuration with only issuer and client, without warnings', () => {
    const { settings, problems, warnings } = readOne(MINIMAL)
    expect({ problems, warnings }).to.deep.equal({ problems: [], warnings: [] })
    expect(settings).to.deep.include({ key: '', groups: null, logoutUrl: null, newAccounts: null })
  })

  it('accepts a member $schema in the configuration, which editors add', () => {
    const { settings, problems, warnings } = readOne({ $schema: './oidc.json', ...MINIMAL })
    expect({ problems, warnings }).to.deep.equal({ problems: [], warnings: [] })
    expect(settings).to.deep.equal(settingsOf(MINIMAL))
  })

  it('accepts any https URL as logouturl', () => {
    const logouturl = 'https://idp.example.com/logout?returnTo=https%3A%2F%2Fmesh.example.com#x'
    expect(settingsOf({ ...MINIMAL, logouturl }).logoutUrl).to.equal(logouturl)
    for (const wrong of ['/logout', 'javascript:alert(1)', 5, null, '']) {
      expect(problemPaths({ ...MINIMAL, logouturl: wrong })).to.deep.equal(['logouturl'])
    }
  })

  it('refuses a newAccounts that is not a boolean', () => {
    for (const value of [true, false])
      expect(settingsOf({ ...MINIMAL, newAccounts: value }).newAccounts).to.equal(value)
    for (const wrong of ['true', 1, null]) {
      expect(problemPaths({ ...MINIMAL, newAccounts: wrong })).to.deep.equal(['newAccounts'])
    }
  })

  it('warns of unknown members of the oidc object, and suggests the right name', () => {
    const oidc = { ...MINIMAL, hostOwn: 1, gruops: {}, client_id: 'x', clientidd: 'x' }
    const { settings, warnings } = readOne(oidc)
    expect(settings).to.deep.equal(settingsOf(MINIMAL))
    expect(warningsOf(oidc)).to.deep.equal(
      ['hostOwn', 'gruops', 'client_id', 'clientidd'].map((name) => `unknown_key ${name}`),
    )
    expect(warnings.map(({ remedy }) => remedy.split('.')[0])).to.deep.equal([
      'Remove it, unless the host itself uses it',
      'Did you mean "groups"?',
      'It belongs in "client"',
      'Did you mean "clientid"?',
    ])
  })

  it('warns of unknown members of issuer, client and custom if unknownKeys is "warn"', () => {
    const oidc = {
      issuer: { issuer: ISSUER, foo: 1 },
      client: { ...CLIENT, bar: 1 },
      custom: { claims: { nick: 'n' }, baz: 1 },
      groups: { sync: { filter: 'a' } },
    }
    const unknown = ['issuer.foo', 'client.bar', 'custom.claims.nick', 'custom.baz']
    expect(problemPaths(oidc)).to.have.members(unknown)
    expect(readOne(oidc, { unknownKeys: 'error' }).problems).to.deep.equal(readOne(oidc).problems)
    const lenient = readOne(oidc, { unknownKeys: 'warn' })
    expect(lenient.problems).to.deep.equal([])
    expect(warningsOf(oidc, { unknownKeys: 'warn' })).to.have.members(unknown.map((path) => `unknown_key ${path}`))
    const groups = { sync: { filter: 'a' } }
    const clean = { issuer: { issuer: ISSUER }, client: CLIENT, custom: { claims: {} }, groups }
    expect(lenient.settings).to.deep.equal(settingsOf(clean))
  })

  // Shows: plugin 9.38.
  it('refuses unknown members of groups even if unknownKeys is "warn"', () => {
    for (const unknownKeys of ['error', 'warn'] as const) {
      const reading = readOne(
        { ...MINIMAL, groups: { requred: ['a'], sync: { filter: 'a', more: 1 } } },
        { unknownKeys },
      )
      expect(reading.settings).to.equal(null)
      expect(
        reading.problems.map(({ path, remedy }) => [path.replace(/.*\.groups\./, ''), remedy.split('. ')[0]]),
      ).to.have.deep.members([
        ['requred', 'Did you mean "required"?'],
        ['sync.more', 'Remove it'],
      ])
    }
  })

  // Shows: plugin 9.38.
  it("suggests groups.required for requiredGroups and other programs' setting names", () => {
    const names = {
      requiredGroups: 'groups.required',
      allowed_groups: 'groups.required',
      'allowed-roles': 'groups.required',
      adminGroups: 'groups.siteadmin',
      admin_groups: 'groups.siteadmin',
      groups_claim: 'groups.claim',
      role_attribute_path: 'groups.claim',
      groupScope: 'groups.scope',
      syncGroups: 'groups.sync',
    }
    for (const [name, ourName] of Object.entries(names)) {
      const { problems } = readOne({ ...MINIMAL, groups: { [name]: ['a'] } }, { unknownKeys: 'warn' })
      expect(
        problems.map(({ remedy }) => remedy.includes(`\`${ourName}\``)),
        name,
      ).to.deep.equal([true])
      const { warnings } = readOne({ ...MINIMAL, [name]: ['a'] })
      expect(
        warnings.map(({ remedy }) => remedy.includes(`\`${ourName}\``)),
        name,
      ).to.deep.equal([true])
    }
  })

  it('reports all mistakes of a configuration at once, each under its own path', () => {
    const oidc = {
      issuer: { issuer: 'http://idp.example.com', jwks_uri: 5, nonsense: 1 },
      client: { client_id: '', response_types: ['code', 'token'], id_token_encrypted_response_enc: 'A128GCM' },
      custom: { scope: 'a"b', claims: { uuid: 5 }, preset: null, customer_id: 'x' },
      groups: { required: 5, sync: {} },
      newAccounts: 'yes',
    }
    expect(problemPaths(oidc)).to.have.members([
      ...['issuer.issuer', 'issuer.jwks_uri', 'issuer.nonsense'],
      ...['client.client_id', 'client.client_secret', 'client.response_types[1]'],
      ...['client.id_token_encrypted_response_alg', 'custom.scope', 'custom.claims.uuid', 'custom.customer_id'],
      ...['groups.required', 'groups.sync.filter', 'newAccounts'],
    ])
  })

  it('reads the same settings for a domain, whether alone or beside other domains', () => {
    const copyOf = (object: unknown) => structuredClone(object)
    const wrong = { issuer: 'http://idp.example.com', clientid: 'old', client: { client_secret: 'x' } }
    fc.assert(
      fc.property(fc.array(fc.oneof(validOidc, fc.constant(wrong), fc.jsonValue()), { minLength: 1 }), (objects) => {
        const all = [...objects, ...objects.map(copyOf)].map(
          (oidc, index) => [`d${index}`, domainOf(index, oidc)] as const,
        )
        const together = readDomains({ settings: SETTINGS, domains: Object.fromEntries(all) }).domains
        const alone = all.flatMap(
          ([key, domain]) => readDomains({ settings: SETTINGS, domains: { [key]: domain } }).domains,
        )
        expect(together).to.deep.equal(alone)
      }),
      { numRuns: 50 },
    )
  })

  it('escapes terminal control characters in names from the configuration', () => {
    const name = 'a\u001b[31m\n\u202e'
    const text = JSON.stringify(readOne({ ...MINIMAL, [name]: 1, groups: { [name]: 1 } }).problems)
    expect(JSON.parse(text)[0].path).to.match(/^[\x20-\x7e]+$/)
  })

  it('problems and warnings quote no value of the configuration', () => {
    const secret = 'Ex4mple-Val1e'
    const wrong = { a: secret }
    const oidc = {
      issuer: { issuer: `http://${secret}@x.example`, token_endpoint: secret, jwks_uri: wrong },
      client: {
        client_id: [secret],
        client_secret: wrong,
        redirect_uri: secret,
        response_types: [secret],
        default_max_age: secret,
        token_endpoint_auth_method: secret,
        id_token_signed_response_alg: secret,
      },
      custom: { preset: secret, tenant_id: `/${secret}`, customer_id: secret, scope: `"${secret}`, claims: secret },
      groups: { required: [{ a: secret }], sync: secret },
      clientsecret: secret,
      logouturl: secret,
    }
    for (const unknownKeys of ['error', 'warn'] as const) {
      const { problems, warnings } = readOne(oidc, { unknownKeys }, { cert: `${secret}/`, port: secret })
      expect(problems.length).to.be.above(12)
      expect(JSON.stringify([problems, warnings]).toLowerCase()).not.to.contain(secret.toLowerCase())
    }
  })

  it('reading a configuration does not throw, even if it is malformed', () => {
    const objects = ['issuer', 'client', 'custom', 'groups', 'sync', 'response_types', '__proto__', 'constructor']
    const names = [...objects, 'enabled', 'clientid', 'tokenURL', 'scope', 'preset']
    const junk = fc.anything({
      withNullPrototype: true,
      withMap: true,
      withDate: true,
      withBigInt: true,
      withSparseArray: true,
      key: fc.oneof(fc.constantFrom(...names), fc.string()),
    })
    const members = fc.dictionary(
      fc.constantFrom(...names, 'client_id', 'client_secret', 'tenant_id'),
      fc.oneof(junk, fc.constantFrom<unknown>('azure', 'google', true, ISSUER)),
    )
    const oidc = fc.oneof(
      junk,
      fc.record({ issuer: members, client: members, custom: members, groups: members }, { requiredKeys: [] }),
      members,
    )
    fc.assert(
      fc.property(junk, oidc, junk, (config, value, settings) => {
        expect(readDomains(config)).to.have.keys('domains', 'problems')
        const { domains } = readDomains({ settings, domains: { '': { authStrategies: { oidc: value } } } })
        for (const domain of domains) expect(domain.settings === null).to.equal(domain.problems.length > 0)
      }),
      { numRuns: 500 },
    )
  })
})
