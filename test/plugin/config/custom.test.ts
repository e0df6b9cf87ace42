import { expect } from 'chai'
import { CLIENT, ISSUER, itReadsMembers, MINIMAL, problemPaths, settingsOf, warningsOf } from './one-domain.ts'

const GOOGLE_ID = '12345-abc.apps.googleusercontent.com'
const TENANT = '7d2b5b3a-1111-4222-8333-123456789abc'
const custom = (members: object, more: object = {}) => settingsOf({ ...MINIMAL, ...more, custom: members }).custom
const problems = (members: object, more: object = {}) => problemPaths({ ...MINIMAL, ...more, custom: members })

describe('custom configuration', () => {
  // Shows: plugin 5.1.
  it('has the defaults of the specification', () => {
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
  it('takes authorization_params as texts, and none that the protocol or this server sets', () => {
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
      'takes required_acr as one text or several, and none that a request could not carry',
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
      'takes previous_issuers as one text or several',
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
      'takes scope in its three forms, with openid always first and none twice, and none that no request can carry',
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
        ...['openid', ['openid'], '', []].map((given) => [given, ['openid']] as const),
        ['https://api.example/read', ['openid', 'https://api.example/read']],
      ],
      ['openid "email"', 'a\\b', 'prénom', 5, null, {}],
    ],
    [
      'takes authorities as groups, roles, or both',
      'authorities',
      [
        [undefined, ['groups']],
        ['roles', ['roles']],
        [TWO, TWO],
      ],
      ['all', '', 5, null, []],
    ],
  ])

  it('says which of several values is refused', () => {
    for (const wrong of ['', 'two words', 2])
      expect(problems({ required_acr: ['1', wrong] }), String(wrong)).to.deep.equal(['custom.required_acr[1]'])
    expect(problems({ scope: ['openid', 5] })).to.deep.equal(['custom.scope[1]'])
    expect(problems({ authorities: ['roles', 'all'] })).to.deep.equal(['custom.authorities[1]'])
  })

  // Shows: plugin 6.8.
  it('adds the group scope when groups are configured, once', () => {
    const scope = (groups: object, members: object = {}) => custom(members, { groups }).scope
    expect(scope({})).to.deep.equal(['openid', 'profile', 'email', 'groups'])
    expect(scope({ scope: 'roles' }, { scope: 'openid' })).to.deep.equal(['openid', 'roles'])
    expect(scope({ scope: 'roles extra' }, { scope: 'openid roles' })).to.deep.equal(['openid', 'roles', 'extra'])
  })

  // Shows: plugin 5.2.
  it('takes each claim by itself', () => {
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
  it('takes buttonText as a line of text, and icons as addresses or paths of this server', () => {
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
    const others = ['javascript:alert(1)', 'data:image/png;base64,AAAA', 'two words.png', '/a\nb.png', '', 5, null]
    for (const buttonIconUrl of [...elsewhere, ...others]) {
      expect(problems({ buttonIconUrl }), String(buttonIconUrl)).to.deep.equal(['custom.buttonIconUrl'])
    }
    expect(problems({ buttonIconUrl2x: 'javascript:alert(1)' })).to.deep.equal(['custom.buttonIconUrl2x'])
    expect(custom({ BUTTONTEXT: 'Corp' })).to.include({ buttonText: 'Corp' })
  })

  // Shows: plugin 5.21.
  it('refuses unknown members', () => {
    expect(problems({ tenantid: 'x', other: 1 })).to.deep.equal(['custom.tenantid', 'custom.other'])
  })
})

describe('presets', () => {
  it('bring their issuer, so that none need be configured', () => {
    const google = settingsOf({ client: CLIENT, custom: { preset: 'google' } })
    expect(google.issuer).to.deep.equal({ issuer: 'https://accounts.google.com', manual: {} })
    const azure = settingsOf({ client: CLIENT, custom: { preset: 'azure', tenant_id: TENANT } })
    expect(azure.issuer).to.deep.equal({ issuer: `https://login.microsoftonline.com/${TENANT}/v2.0`, manual: {} })
    expect([google.custom.preset, azure.custom.preset]).to.deep.equal(['google', 'azure'])
    expect([google.custom.presetMembers, azure.custom.presetMembers]).to.deep.equal([{}, { tenant_id: TENANT }])
  })

  // Shows: plugin 3.49, 5.17.
  it('ignore a configured issuer and say so, and keep endpoints that were set by hand', () => {
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
  it('choose Google by a client id of Google, unless one is chosen or null', () => {
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

  it('are refused when misspelt, without complaining of what follows from it', () => {
    for (const preset of ['Google', 'entra', '', 5, false]) {
      expect(problemPaths({ client: CLIENT, custom: { preset } }), String(preset)).to.deep.equal(['custom.preset'])
    }
  })

  // Shows: plugin 5.14.
  it('need for Azure a tenant, and one that is a single directory', () => {
    const azure = (tenant: object, more: object = {}) =>
      problemPaths({ client: CLIENT, custom: { preset: 'azure', ...tenant }, ...more })
    const shared = ['common', 'Organizations', 'consumers', '9188040d-6c67-4c5b-b112-36a304b66dad']
    for (const tenant_id of [undefined, ...shared, '', '../x', 'a/b', 'a?b', 5, null])
      expect(azure({ tenant_id }), String(tenant_id)).to.deep.equal(['custom.tenant_id'])
    expect(azure({ tenant_id: 'contoso.onmicrosoft.com' })).to.deep.equal([])
    expect(azure({}, { groups: {} })).to.deep.equal(['custom.tenant_id'])
  })

  // Shows: plugin 5.15.
  it('need for Google a customer id when groups are configured, and it starts with C', () => {
    const google = (customer: object, more: object = { groups: {} }) =>
      problemPaths({ client: CLIENT, custom: { preset: 'google', ...customer }, ...more })
    expect(google({}, {})).to.deep.equal([])
    expect(google({ customer_id: 'C01abc23d' })).to.deep.equal([])
    for (const customer_id of [undefined, '01abc', 'c01abc', "C1' || true", '', 5, null])
      expect(google({ customer_id }), String(customer_id)).to.deep.equal(['custom.customer_id'])
    for (const members of [{ client: { ...CLIENT, client_id: GOOGLE_ID } }, { clientid: GOOGLE_ID, clientsecret: 'x' }])
      expect(problemPaths({ ...members, groups: {} })).to.deep.equal(['custom.customer_id'])
  })

  // Shows: plugin 5.17.
  it('have group scopes of their own, which a configured one replaces, and leave the asking to the preset', () => {
    const azure = { client: CLIENT, custom: { preset: 'azure', tenant_id: TENANT } }
    const google = { client: CLIENT, custom: { preset: 'google', customer_id: 'C1' } }
    expect(settingsOf({ ...azure, groups: {} }).groups?.scope).to.equal('Group.Read.All')
    expect(settingsOf({ ...google, groups: {} }).groups?.scope).to.match(/cloud-identity\.groups\.readonly$/)
    const chosen = settingsOf({ ...azure, groups: { scope: 'GroupMember.Read.All' } })
    expect(chosen.groups?.scope).to.equal('GroupMember.Read.All')
    expect(chosen.custom.scope).to.deep.equal(['openid', 'profile', 'email'])
  })
})

describe('password_login', () => {
  const onMeshCentral = (oidc: object) => warningsOf({ ...MINIMAL, ...oidc }, { meshCentral: true })

  // Shows: plugin 5.22.
  it('warns of passwords for nobody where no group makes site admins', () => {
    for (const password_login of [false, []]) {
      expect(onMeshCentral({ custom: { password_login } })).to.deep.equal(['no_way_for_admins custom.password_login'])
      expect(onMeshCentral({ custom: { password_login }, groups: { siteadmin: 'admins' } })).to.deep.equal([])
    }
    for (const password_login of [true, ['admin']])
      expect(onMeshCentral({ custom: { password_login } })).to.deep.equal([])
  })

  it('warns on a host that does not enforce it', () => {
    for (const password_login of [false, ['admin']])
      expect(warningsOf({ ...MINIMAL, custom: { password_login } })).to.deep.equal(['no_effect custom.password_login'])
  })

  it('refuses anything but a boolean or a list of names', () => {
    for (const password_login of ['admin', 0, [''], [1], null])
      expect(problems({ password_login })[0]).to.match(/^custom\.password_login/)
  })
})

describe('the claim that people are known by', () => {
  // Shows: plugin 5.3.
  it('brings a warning when it is that of the address: addresses change hands', () => {
    const claims = (names: object) => warningsOf({ ...MINIMAL, custom: { claims: names } })
    for (const names of [
      { uuid: 'email' },
      { uuid: 'upn', email: 'upn' },
      { uuid: 'emails.0' },
      { uuid: 'person.mail' },
    ]) {
      expect(claims(names)).to.deep.equal(['changing_id custom.claims.uuid'])
    }
    for (const names of [{}, { uuid: 'sub' }, { email: 'upn' }]) expect(claims(names)).to.deep.equal([])
  })

  // Shows: plugin 5.3.
  it('brings a warning if it is a name: names change hands', () => {
    for (const uuid of ['preferred_username', 'upn', 'name', 'UPN', 'unique_name', 'person.upn']) {
      const oidc = { ...MINIMAL, custom: { claims: { uuid } } }
      expect(warningsOf(oidc), uuid).to.deep.equal(['changing_id custom.claims.uuid'])
    }
  })

  // Shows: plugin 5.3.
  it('warns of an id claim for which the built-in strategy may have used sub', () => {
    for (const uuid of ['oid', 'employee.number', 'extension_upnx']) {
      const oidc = { ...MINIMAL, custom: { claims: { uuid } } }
      expect(warningsOf(oidc), uuid).to.deep.equal(['other_id custom.claims.uuid'])
    }
  })
})
