import { expect } from 'chai'
import {
  CLIENT,
  ISSUER,
  itReadsMembers,
  MINIMAL,
  problemPaths,
  readOne,
  settingsOf,
  warningsOf,
} from './single-domain.ts'

const GOOGLE_ID = '12345-abc.apps.googleusercontent.com'
const TENANT = '7d2b5b3a-1111-4222-8333-123456789abc'
const custom = (members: object, more: object = {}) => settingsOf({ ...MINIMAL, ...more, custom: members }).custom
const problems = (members: object, more: object = {}) => problemPaths({ ...MINIMAL, ...more, custom: members })

describe('settings in authStrategies.oidc.custom', () => {
  // Shows: plugin 5.1.
  it('custom settings have the documented defaults if custom is absent or empty', () => {
    const defaults = {
      scope: ['openid', 'profile', 'email'],
      claims: { uuid: 'sub', name: 'name', email: 'email' },
      authorities: ['groups'],
      authorizationParams: {},
      requiredAcr: [],
      previousIssuers: [],
      preset: null,
      presetMembers: {},
    }
    expect(settingsOf(MINIMAL).custom).to.deep.equal(defaults)
    expect(custom({})).to.deep.equal(defaults)
  })

  // Shows: plugin 5.7.
  it('refuses authorization_params that are not strings or that the plugin itself sets', () => {
    const authorization_params = { prompt: 'login', acr_values: 'urn:mfa', kc_idp_hint: 'company' }
    expect(custom({ authorization_params }).authorizationParams).to.deep.equal(authorization_params)
    for (const wrong of ['prompt=login', 5, null, ['prompt']])
      expect(problems({ authorization_params: wrong })).to.deep.equal(['custom.authorization_params'])
    for (const name of ['state', 'nonce', 'redirect_uri', 'Response_Mode', 'code_challenge', 'request_uri', 'scope']) {
      const path = `custom.authorization_params.${name}`
      expect(problems({ authorization_params: { [name]: 'x' } })).to.deep.equal([path])
    }
    for (const wrong of ['', 5, true, null, ['login']]) {
      const path = 'custom.authorization_params.prompt'
      expect(problems({ authorization_params: { prompt: wrong } })).to.deep.equal([path])
    }
  })

  const TWO = ['roles', 'groups']
  // Shows: plugin 5.1, 5.6, 5.9, 5.13.
  // Shows: meshcentral 20.
  itReadsMembers('custom', [
    [
      'accepts required_acr as a string or array of values without spaces',
      'required_acr',
      [
        ['urn:mfa', ['urn:mfa']],
        [
          ['2', '3', '2'],
          ['2', '3'],
        ],
      ],
      ['', 'two words', 'a\n', [], null, 2, true, {}],
    ],
    [
      'accepts previous_issuers as a string or array of issuers',
      'previous_issuers',
      [
        ['https://old.example', ['https://old.example']],
        [
          ['https://old.example', 'accounts.google.com'],
          ['https://old.example', 'accounts.google.com'],
        ],
      ],
      ['', null, 2, true, {}],
    ],
    [
      'reads custom.scope with openid first and without duplicates',
      'scope',
      [
        ['openid profile', ['openid', 'profile']],
        [
          ['profile', 'email', 'openid'],
          ['openid', 'profile', 'email'],
        ],
        ['profile', ['openid', 'profile']],
        [['profile'], ['openid', 'profile']],
        [['openid email'], ['openid', 'email']],
        ['  email   email openid ', ['openid', 'email']],
        ...['openid', ['openid'], '', []].map((value) => [value, ['openid']] as const),
        ['https://api.example/read', ['openid', 'https://api.example/read']],
      ],
      ['openid "email"', 'a\\b', 'prénom', 5, null, {}],
    ],
    [
      'accepts only groups and roles as authorities',
      'authorities',
      [
        [undefined, ['groups']],
        ['roles', ['roles']],
        [TWO, TWO],
      ],
      ['all', '', 5, null, []],
    ],
  ])

  it('reports each invalid entry of an array in custom with its position', () => {
    for (const wrong of ['', 'two words', 2])
      expect(problems({ required_acr: ['1', wrong] }), String(wrong)).to.deep.equal(['custom.required_acr[1]'])
    expect(problems({ scope: ['openid', 5] })).to.deep.equal(['custom.scope[1]'])
    expect(problems({ authorities: ['roles', 'all'] })).to.deep.equal(['custom.authorities[1]'])
  })

  // Shows: plugin 6.8.
  it('adds the group scope to the requested scopes once if groups are configured', () => {
    const scope = (groups: object, members: object = {}) => custom(members, { groups }).scope
    expect(scope({})).to.deep.equal(['openid', 'profile', 'email', 'groups'])
    expect(scope({ scope: 'roles' }, { scope: 'openid' })).to.deep.equal(['openid', 'roles'])
    expect(scope({ scope: 'roles extra' }, { scope: 'openid roles' })).to.deep.equal(['openid', 'roles', 'extra'])
  })

  // Shows: plugin 5.2.
  it('keeps the default claim for each member that custom.claims does not set', () => {
    expect(custom({ claims: { uuid: 'oid' } }).claims).to.deep.equal({ uuid: 'oid', name: 'name', email: 'email' })
    expect(custom({ claims: { name: 'n', email: 'e' } }).claims).to.deep.equal({ uuid: 'sub', name: 'n', email: 'e' })
    for (const name of ['uuid', 'name', 'email']) {
      for (const wrong of ['', 5, null]) {
        expect(problems({ claims: { [name]: wrong } })).to.deep.equal([`custom.claims.${name}`])
      }
    }
    expect(problems({ claims: { mail: 'mail' } })).to.deep.equal(['custom.claims.mail'])
    expect(problems({ claims: 'sub' })).to.deep.equal(['custom.claims'])
  })

  // Shows: plugin 5.8, 5.10, 5.11.
  it('accepts one line of text as buttonText, and a URL or local path as icon', () => {
    for (const buttonText of ['Corp', 'x'.repeat(128), 'Mit Firmenkonto anmelden 👩‍💻']) {
      expect(custom({ buttonText })).to.include({ buttonText })
    }
    for (const buttonText of ['', '  ', 'two\nlines', 'tab\tstop', 'x'.repeat(129), '\u2028x', 5, null]) {
      expect(problems({ buttonText }), String(buttonText)).to.deep.equal(['custom.buttonText'])
    }
    for (const icon of ['https://a.test/i.png?v=1#x', 'http://a.test/i.png', '/i/i.png', 'i/i.png', '../i.png']) {
      const icons = { buttonIconUrl: icon, buttonIconUrl2x: icon }
      expect(custom(icons)).to.include(icons)
    }
    const elsewhere = ['//', '\\\\', '/\\', 'https://user@'].map((start) => `${start}cdn.example.com/i.png`)
    const invalid = ['javascript:alert(1)', 'data:image/png;base64,AAAA', 'two words.png', '/a\nb.png', '', 5, null]
    for (const buttonIconUrl of [...elsewhere, ...invalid]) {
      expect(problems({ buttonIconUrl }), String(buttonIconUrl)).to.deep.equal(['custom.buttonIconUrl'])
    }
    expect(problems({ buttonIconUrl2x: 'javascript:alert(1)' })).to.deep.equal(['custom.buttonIconUrl2x'])
    expect(custom({ BUTTONTEXT: 'Corp' })).to.include({ buttonText: 'Corp' })
  })

  // Shows: plugin 5.21.
  it('refuses unknown members of custom', () => {
    expect(problems({ tenantid: 'x', other: 1 })).to.deep.equal(['custom.tenantid', 'custom.other'])
  })
})

describe('presets in the configuration', () => {
  it('requires no issuer if the preset is google or azure', () => {
    const google = settingsOf({ client: CLIENT, custom: { preset: 'google' } })
    expect(google.issuer).to.deep.equal({ issuer: 'https://accounts.google.com', manual: {} })
    const azure = settingsOf({ client: CLIENT, custom: { preset: 'azure', tenant_id: TENANT } })
    expect(azure.issuer).to.deep.equal({ issuer: `https://login.microsoftonline.com/${TENANT}/v2.0`, manual: {} })
    expect(google.custom).to.deep.include({ preset: 'google', presetMembers: {} })
    expect(azure.custom).to.deep.include({ preset: 'azure', presetMembers: { tenant_id: TENANT } })
  })

  // Shows: plugin 3.49, 5.17.
  it('a preset overrides issuer with a warning, but not the configured endpoints', () => {
    const azure = { client: CLIENT, custom: { preset: 'azure', tenant_id: TENANT } }
    for (const issuer of [ISSUER, 'not even an address']) {
      expect(settingsOf({ ...azure, issuer }).issuer.issuer).to.contain(TENANT)
      expect(warningsOf({ ...azure, issuer })).to.deep.equal(['issuer_ignored issuer'])
      const object = { issuer, end_session_endpoint: 'https://x.example/out' }
      expect(settingsOf({ ...azure, issuer: object }).issuer.manual).to.deep.equal({
        end_session_endpoint: 'https://x.example/out',
      })
      expect(warningsOf({ ...azure, issuer: object })).to.deep.equal(['issuer_ignored issuer.issuer'])
    }
    expect(warningsOf({ ...azure, issuer: { end_session_endpoint: 'https://x.example/out' } })).to.deep.equal([])
    expect(warningsOf(azure)).to.deep.equal([])
  })

  // Shows: plugin 5.12, 5.18.
  it('infers the Google preset from the client id, unless custom.preset is set or null', () => {
    const client = { ...CLIENT, client_id: GOOGLE_ID }
    const preset = (members: object) => settingsOf({ issuer: ISSUER, client, custom: members }).custom.preset
    expect(settingsOf({ client }).custom.preset).to.equal('google')
    expect(preset({})).to.equal('google')
    expect(preset({ preset: 'azure', tenant_id: TENANT })).to.equal('azure')
    expect(preset({ preset: null })).to.equal(null)
    expect(settingsOf({ issuer: ISSUER, client, custom: { preset: null } }).issuer.issuer).to.equal(ISSUER)
    for (const client_id of [`${GOOGLE_ID}.example.com`, 'apps.googleusercontent.com']) {
      expect(settingsOf({ issuer: ISSUER, client: { ...CLIENT, client_id } }).custom.preset).to.equal(null)
    }
  })

  it("reports only custom.preset if the preset's name is misspelt", () => {
    for (const preset of ['Google', 'entra', '', 5, false]) {
      expect(problemPaths({ client: CLIENT, custom: { preset } }), String(preset)).to.deep.equal(['custom.preset'])
    }
  })

  // Shows: plugin 5.14.
  it('refuses a tenant_id of several directories (such as common) with preset azure', () => {
    const azure = (tenant: object, more: object = {}) =>
      problemPaths({ client: CLIENT, custom: { preset: 'azure', ...tenant }, ...more })
    const shared = ['common', 'Organizations', 'consumers', '9188040d-6c67-4c5b-b112-36a304b66dad']
    for (const tenant_id of [undefined, ...shared, '', '../x', 'a/b', 'a?b', 5, null])
      expect(azure({ tenant_id }), String(tenant_id)).to.deep.equal(['custom.tenant_id'])
    expect(azure({ tenant_id: 'contoso.onmicrosoft.com' })).to.deep.equal([])
    expect(azure({}, { groups: {} })).to.deep.equal(['custom.tenant_id'])
  })

  // Shows: plugin 5.15.
  it('refuses a customer_id that does not start with C if Google groups are used', () => {
    const google = (customer: object, more: object = { groups: {} }) =>
      problemPaths({ client: CLIENT, custom: { preset: 'google', ...customer }, ...more })
    expect(google({}, {})).to.deep.equal([])
    expect(google({ customer_id: 'C01abc23d' })).to.deep.equal([])
    for (const customer_id of [undefined, '01abc', 'c01abc', "C1' || true", '', 5, null])
      expect(google({ customer_id }), String(customer_id)).to.deep.equal(['custom.customer_id'])
    for (const members of [{ client: { ...CLIENT, client_id: GOOGLE_ID } }, { clientid: GOOGLE_ID, clientsecret: 'x' }])
      expect(problemPaths({ ...members, groups: {} })).to.deep.equal(['custom.customer_id'])
  })

  it('refuses an identitysource with characters that an id cannot contain', () => {
    const google = (identitysource: unknown) =>
      problemPaths({ client: CLIENT, custom: { preset: 'google', identitysource }, groups: {} })
    expect(google('a1b2-C_3')).to.deep.equal([])
    for (const identitysource of ['', 'identitysources/a1', "a' || true", 'a b'])
      expect(google(identitysource), identitysource).to.deep.equal(['custom.identitysource'])
  })

  it('groups.recursive works with the Google preset even if groups.claim is set', () => {
    const google = { client: CLIENT, custom: { preset: 'google', customer_id: 'C1' } }
    expect(warningsOf({ ...google, groups: { recursive: true, claim: 'groups' } })).to.deep.equal([])
  })

  // Shows: plugin 5.17.
  it('requests the group scope of the preset unless groups.scope is set', () => {
    const azure = { client: CLIENT, custom: { preset: 'azure', tenant_id: TENANT } }
    const google = { client: CLIENT, custom: { preset: 'google', customer_id: 'C1' } }
    expect(settingsOf({ ...azure, groups: {} }).groups?.scope).to.equal('Group.Read.All')
    expect(settingsOf({ ...google, groups: {} }).groups?.scope).to.match(/cloud-identity\.groups\.readonly$/)
    const chosen = settingsOf({ ...azure, groups: { scope: 'GroupMember.Read.All' } })
    expect(chosen.groups?.scope).to.equal('GroupMember.Read.All')
    expect(chosen.custom.scope).to.deep.equal(['openid', 'profile', 'email'])
  })
})

describe('custom.password_login', () => {
  const onMeshCentral = (oidc: object) => warningsOf({ ...MINIMAL, ...oidc }, { meshCentral: true })

  // Shows: plugin 5.22.
  it('warns if custom.password_login is off and no group grants site admin', () => {
    for (const password_login of [false, []]) {
      expect(onMeshCentral({ custom: { password_login } })).to.deep.equal(['no_way_for_admins custom.password_login'])
      expect(onMeshCentral({ custom: { password_login }, groups: { siteadmin: 'admins' } })).to.deep.equal([])
    }
    for (const password_login of [true, ['admin']])
      expect(onMeshCentral({ custom: { password_login } })).to.deep.equal([])
  })

  it('warns of custom.password_login on hosts that do not enforce it', () => {
    for (const password_login of [false, ['admin']])
      expect(warningsOf({ ...MINIMAL, custom: { password_login } })).to.deep.equal(['no_effect custom.password_login'])
  })

  it('refuses a custom.password_login that is neither a boolean nor a list of names', () => {
    for (const password_login of ['admin', 0, [''], [1], null])
      expect(problems({ password_login })[0]).to.match(/^custom\.password_login/)
  })
})

describe('claim that identifies users', () => {
  // Shows: plugin 5.3.
  it('warns if users are identified by e-mail address, which can change hands', () => {
    const claims = (names: object) => warningsOf({ ...MINIMAL, custom: { claims: names } })
    for (const names of [
      { uuid: 'email' },
      { uuid: 'upn', email: 'upn' },
      { uuid: 'emails.0' },
      { uuid: 'emails.12' },
      { uuid: 'person.mail' },
    ]) {
      expect(claims(names)).to.deep.equal(['changing_id custom.claims.uuid'])
    }
    for (const names of [{}, { uuid: 'sub' }, { email: 'upn' }]) expect(claims(names)).to.deep.equal([])
  })

  it('the warning about addresses as ids says whether unverified users are refused', () => {
    const remedyOf = (claims: object) => readOne({ ...MINIMAL, custom: { claims } }).warnings[0]?.remedy
    for (const claims of [{ uuid: 'email' }, { uuid: 'email', email: 'mail' }, { uuid: 'upn', email: 'upn' }]) {
      expect(remedyOf(claims), JSON.stringify(claims)).to.match(/`email_verified` is false are refused\.$/)
    }
    expect(remedyOf({ uuid: 'mail' })).to.match(/identified by this address\.$/)
  })

  // Shows: plugin 5.3.
  it('warns if users are identified by a name, which can change hands', () => {
    for (const uuid of ['preferred_username', 'upn', 'name', 'UPN', 'unique_name', 'person.upn']) {
      const oidc = { ...MINIMAL, custom: { claims: { uuid } } }
      expect(warningsOf(oidc), uuid).to.deep.equal(['changing_id custom.claims.uuid'])
    }
  })

  // Shows: plugin 5.3.
  it('warns of a custom.claims.uuid other than sub, because old accounts may use sub', () => {
    for (const uuid of ['oid', 'employee.number', 'extension_upnx', 'upn.x1', 'upn.1x']) {
      const oidc = { ...MINIMAL, custom: { claims: { uuid } } }
      expect(warningsOf(oidc), uuid).to.deep.equal(['other_id custom.claims.uuid'])
    }
  })
})
