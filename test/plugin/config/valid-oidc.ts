import fc from 'fast-check'

const address = fc.constantFrom(
  'https://idp.example.com/a',
  'https://other.example.com/b?x=Y',
  'http://127.0.0.1:9000/c',
)
const words = fc.constantFrom('admins', 'Mesh Users', 'group,with comma', 'x')
const oneOrMore = fc.oneof(words, fc.array(words, { maxLength: 3 }))
const scope = fc.constantFrom<string | string[]>('openid', 'profile', ['email'], 'openid profile email', [
  'openid email',
  'x',
])
const optional = <Members>(members: { [Name in keyof Members]: fc.Arbitrary<Members[Name]> }) =>
  fc.record(members, { requiredKeys: [] })

const client = fc.record(
  {
    client_id: fc.constantFrom('mesh', 'Mesh-2'),
    client_secret: fc.constantFrom('s1', 'S2'),
    redirect_uri: address,
    post_logout_redirect_uri: fc.oneof(address, fc.boolean()),
    response_types: fc.constantFrom<string | string[]>('code', ['id_token'], 'code id_token'),
    require_auth_time: fc.boolean(),
    token_endpoint_auth_method: fc.constantFrom('client_secret_post', 'none'),
  },
  { requiredKeys: ['client_id', 'client_secret'] },
)
const issuer = fc.record(
  {
    issuer: fc.constant('https://idp.example.com'),
    token_endpoint: address,
    end_session_endpoint: address,
    mtls_endpoint_aliases: optional({ token_endpoint: address }),
    token_endpoint_auth_methods_supported: fc.constant('client_secret_basic, private_key_jwt'),
  },
  { requiredKeys: ['issuer'] },
)
const sync = fc.oneof(
  fc.boolean(),
  fc.record({ filter: oneOrMore }),
  fc.record({ enabled: fc.boolean() }),
  fc.record({ enabled: fc.boolean(), filter: oneOrMore }),
)
const current = {
  custom: optional({
    scope,
    claims: optional({ uuid: fc.constantFrom('oid', 'Sub'), email: fc.constant('mail') }),
    tenant_id: fc.constant('t'),
  }),
  groups: optional({
    recursive: fc.boolean(),
    required: oneOrMore,
    siteadmin: oneOrMore,
    revokeAdmin: fc.boolean(),
    sync,
    scope: fc.constant('roles'),
  }),
  logouturl: address,
  newAccounts: fc.boolean(),
  hostOwn: fc.constant({ Anything: 1 }),
}
const deprecated = {
  authorizationURL: address,
  tokenURL: address,
  userInfoURL: address,
  callbackURL: address,
  logoutURL: address,
  scope,
  tenantid: fc.constant('T-old'),
  customerid: fc.constant('C0old'),
}

/** Generates `oidc` objects without a mistake: with current keys, deprecated keys, or both, in any order. */
export const validOidc: fc.Arbitrary<object> = fc
  .record(
    {
      issuer: fc.oneof(fc.constant('https://idp.example.com'), issuer),
      client,
      clientid: fc.constant('old'),
      clientsecret: fc.constant('old'),
      ...current,
      ...deprecated,
    },
    { requiredKeys: ['issuer', 'client'] },
  )
  .chain((oidc) => fc.shuffledSubarray(Object.entries(oidc), { minLength: Object.keys(oidc).length }))
  .chain((entries) => {
    const { client, ...rest } = Object.fromEntries(entries)
    const onlyOld = { ...rest, clientid: 'old', clientsecret: 'old' }
    return fc.constantFrom(Object.fromEntries(entries), onlyOld)
  })
