import { expect } from 'chai'
import { makeKey } from '../../support/client-keys.ts'
import { type KeyedOptions, keyedSetups, partsOf } from '../../support/keyed-setup.ts'

const PUSHED = { require_pushed_authorization_requests: true }

describe('pushed authorization request', () => {
  const start = keyedSetups()

  /** Begins a login. Also returns the pushed requests and the address that the browser gets. */
  async function begin(options: KeyedOptions = {}) {
    const setup = await start({ client: PUSHED, ...options })
    const sentTo = await setup.redirectFrom()
    return { ...setup, pushes: setup.sent.filter(({ url }) => url.endsWith('/request')), sentTo }
  }

  for (const [source, options] of [
    ['the client object', { client: PUSHED, registered: PUSHED }],
    ["the IdP's metadata", { client: {}, idp: { requirePushedRequests: true } }],
    [
      'the issuer object',
      {
        client: {},
        oidc: ({ idp }) => ({ issuer: { issuer: idp.issuer, require_pushed_authorization_requests: true } }),
      },
    ],
  ] as readonly (readonly [string, KeyedOptions])[]) {
    // Shows: plugin 3.43, 4.29, 9.26.
    it(`pushes the authorization request if ${source} requires it`, async () => {
      const { host, signIn, pushes, sentTo } = await begin(options)
      expect([...sentTo.searchParams.keys()].sort()).to.deep.equal(['client_id', 'request_uri'])
      expect(pushes).to.have.length(1)
      expect(pushes[0]?.form.get('redirect_uri')).to.equal(`${host.url}auth-oidc-callback`)
      expect((await signIn()).page.url).to.equal(host.url)
    })
  }

  for (const [method, members] of [
    ['client_secret_basic', ['request']],
    ['client_secret_post', ['client_id', 'client_secret', 'request']],
    ['private_key_jwt', ['client_assertion', 'client_assertion_type', 'client_id', 'request']],
    ['client_secret_jwt', ['client_assertion', 'client_assertion_type', 'client_id', 'request']],
    ['none', ['client_id', 'request']],
  ] as const) {
    // Shows: plugin 4.18.
    it(`a pushed request has only the request object and the parameters of ${method}`, async () => {
      const { host, signIn, pushes, idp } = await begin({
        keys: [makeKey('P-256')],
        client: { ...PUSHED, token_endpoint_auth_method: method, request_object_signing_alg: 'ES256' },
        registered: { token_endpoint_auth_method: method, request_object_signing_alg: 'ES256' },
      })
      const [push] = pushes
      expect([...(push?.form.keys() ?? [])].sort()).to.deep.equal(members)
      expect(push?.headers.authorization?.startsWith('Basic ') ?? false).to.equal(method === 'client_secret_basic')
      if (method.endsWith('_jwt')) {
        expect(partsOf(push?.form.get('client_assertion') ?? '')[1].aud).to.equal(idp.issuer)
      }
      expect((await signIn()).page.url).to.equal(host.url)
    })
  }

  // Shows: plugin 4.29.
  it("a login ends with the IdP's error if the IdP refuses the pushed request", async () => {
    for (const [status, body] of [
      [400, { error: 'invalid_request', error_description: 'no' }],
      [302, {}],
    ] as const) {
      const { idp, redirectFrom, authLog } = await start({ client: PUSHED })
      idp.faults.set('pushed_authorization_request', { kind: 'answer', status, body: JSON.stringify(body) })
      expect((await redirectFrom()).search, String(status)).to.equal('?failure=provider_refused')
      expect(authLog.at(-1)?.fields).to.include({
        code: 'pushed_request_refused',
        endpoint: 'pushed_authorization_request_endpoint',
        status,
        ...('error' in body ? { error: body.error, errorDescription: body.error_description } : {}),
      })
    }
  })

  it('a login fails if the request must be pushed but the IdP publishes no endpoint', async () => {
    const publishes = { pushed_authorization_request_endpoint: undefined }
    const { redirectFrom, authLog } = await start({ client: PUSHED, publishes })
    expect((await redirectFrom()).search).to.equal('?failure=provider_unreachable')
    expect(authLog.at(-1)?.fields).to.include({
      code: 'metadata_incomplete',
      member: 'issuer.pushed_authorization_request_endpoint',
    })
  })
})

describe('signed authorization request', () => {
  const start = keyedSetups()
  const STRICT = { require_signed_request_object: true }
  // The fixture IdP does not support ES384.
  const keys = [makeKey('P-384', { kid: 'a' }), makeKey('Ed25519', { kid: 'b' }), makeKey('P-256', { kid: 'c' })]

  for (const [source, options] of [
    ['the client object', { client: STRICT }],
    [
      'the metadata',
      { oidc: ({ idp }) => ({ issuer: { issuer: idp.issuer, require_signed_request_object: true } }), client: {} },
    ],
  ] as readonly (readonly [string, KeyedOptions])[]) {
    // Shows: plugin 3.44, 4.28.
    it(`signs requests with the IdP's first algorithm if ${source} requires signatures`, async () => {
      const { host, redirectFrom, signIn } = await start({ keys, registered: STRICT, ...options })
      expect(partsOf((await redirectFrom()).searchParams.get('request') ?? '')[0]).to.include({
        alg: 'EdDSA',
        kid: 'b',
      })
      expect((await signIn()).page.url).to.equal(host.url)
    })
  }

  // Shows: plugin 4.28.
  it('sends no authorization request if no key can sign as the IdP requires', async () => {
    for (const [ownKeys, member] of [
      [[makeKey('P-384')], 'client.require_signed_request_object'],
      [[], 'client.request_object_signing_alg'],
    ] as const) {
      const { redirectFrom, authLog } = await start({
        keys: ownKeys,
        client: ownKeys.length > 0 ? STRICT : {},
        oidc: ({ idp }) => ({ issuer: { issuer: idp.issuer, require_signed_request_object: true } }),
      })
      expect((await redirectFrom()).search).to.equal('?failure=not_configured')
      expect(authLog.at(-1)?.fields).to.include({ code: 'client_keys_missing', member })
    }
  })
})
