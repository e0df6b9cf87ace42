import { rm, writeFile } from 'node:fs/promises'
import { expect } from 'chai'
import { SignJWT } from 'jose'
import { askProvider } from '../../../plugin/doctor/check-live.ts'
import { readDomains } from '../../../plugin/mount/read-domains.ts'
import { readTextFile } from '../../../plugin/mount/read-text-file.ts'
import { makeKey } from '../../support/client-keys.ts'
import { type SetupOptions, setups } from '../../support/sign-in-setup.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** Long enough for every HS algorithm. */
const OLD = 'the-first-client-secret-of-these-tests: 100% "old"'
const NEW = 'the-next-client-secret-of-these-tests: +/=& "new"'
const METHODS = ['client_secret_basic', 'client_secret_post', 'client_secret_jwt']

describe('login with a client secret in a file', () => {
  const start = setups()
  const folder = temporaryFolder()

  /** Starts a host with the old secret in `secret`, at an IdP with the same secret. */
  async function startWithFile({ client, registered, ...options }: SetupOptions = {}) {
    await writeFile(folder.path('secret'), `${OLD}\n`)
    const setup = await start({
      ...options,
      client: { client_secret: undefined, client_secret_file: 'secret', ...client },
      registered: { client_secret: OLD, ...registered },
      host: { configFolder: folder.path(), ...options.host },
    })
    const events = () => setup.output.map((line) => JSON.parse(line) as Record<string, unknown>)
    return {
      ...setup,
      canSignIn: async () => (await setup.signIn()).page.url === setup.host.url,
      reloads: () => events().filter(({ event }) => String(event).startsWith('client-secret-')),
      expectNoSecret() {
        const logged = JSON.stringify([setup.output, setup.authLog])
        for (const secret of [OLD, NEW]) {
          expect(logged).to.not.include(JSON.stringify(secret).slice(1, -1)).and.not.include(secret.slice(0, 20))
        }
      },
    }
  }

  for (const method of METHODS) {
    // Shows: plugin 4.3.
    it(`a login continues if the secret file is rotated (${method})`, async () => {
      const client = { token_endpoint_auth_method: method }
      const setup = await startWithFile({ client, registered: client })
      expect(await setup.canSignIn()).to.equal(true)
      expect(setup.reloads()).to.deep.equal([])

      await writeFile(folder.path('secret'), NEW)
      await setup.register({ client_secret: NEW })
      expect(await setup.canSignIn()).to.equal(true)
      expect(await setup.canSignIn()).to.equal(true)
      expect(setup.reloads()).to.have.length(1)
      expect(setup.reloads()[0]).to.include({ event: 'client-secret-reloaded', file: folder.path('secret') })
      expect(setup.lines('login')).to.have.length(3)
      setup.expectNoSecret()
    })
  }

  it('introspection and pushed requests continue after the secret file is rotated', async () => {
    const client = { require_pushed_authorization_requests: true }
    const setup = await startWithFile({ client, idp: { requirePushedRequests: true } })
    const { person } = await setup.signIn()
    await writeFile(folder.path('secret'), NEW)
    await setup.register({ client_secret: NEW })
    const { body } = await person.step(`${setup.host.url}api/session`)
    expect(JSON.parse(body)).to.deep.equal({ state: 'active' })
    expect(setup.reloads()).to.have.length(1)

    await writeFile(folder.path('secret'), OLD)
    await setup.register({ client_secret: OLD })
    await setup.clock.advance(1_000)
    expect(await setup.canSignIn()).to.equal(true)
    expect(setup.reloads()).to.have.length(2)
  })

  // Shows: plugin 4.3.
  it('decrypts and verifies tokens both before and after the secret file is rotated', async () => {
    const protection = {
      id_token_signed_response_alg: 'HS256',
      id_token_encrypted_response_alg: 'dir',
      userinfo_signed_response_alg: 'HS256',
    }
    const registered = {
      ...protection,
      id_token_encrypted_response_enc: 'A128CBC-HS256',
      request_object_signing_alg: 'HS256',
    }
    const client = { ...protection, request_object_signing_alg: 'HS256' }
    const setup = await startWithFile({ client, registered })
    expect(await setup.canSignIn()).to.equal(true)
    await writeFile(folder.path('secret'), NEW)
    await setup.register({ ...registered, client_secret: NEW })
    await setup.clock.advance(1_000)
    // The request itself is signed with the secret, and the IdP reports a refusal only to the browser.
    expect(await setup.canSignIn()).to.equal(true)
    expect(setup.reloads()).to.have.length(1)
  })

  it('verifies HS256 tokens with a rotated client secret, even with private_key_jwt', async () => {
    const key = makeKey('P-256')
    const registered = {
      token_endpoint_auth_method: 'private_key_jwt',
      id_token_signed_response_alg: 'HS256',
      jwks: { keys: [key.public] },
    }
    await writeFile(folder.path('keys'), JSON.stringify({ keys: [key.private] }))
    const { jwks: _, ...client } = registered
    const credentials = { '': { jwksFile: folder.path('keys') } }
    const setup = await startWithFile({ client, registered, host: { credentials } })
    const { person } = await setup.signIn()
    await writeFile(folder.path('secret'), NEW)
    await setup.register({ ...registered, client_secret: NEW })
    expect(await setup.canSignIn()).to.equal(true)
    expect(setup.reloads()).to.have.length(1)

    await setup.clock.advance(1_000)
    const third = `${NEW} again`
    await writeFile(folder.path('secret'), third)
    const iat = Math.floor(setup.clock.now() / 1000)
    const token = await new SignJWT({
      ...{ iss: setup.idp.issuer, aud: 'mesh', sub: 'sub-alice', iat, exp: iat + 60, jti: 'one' },
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    })
      .setProtectedHeader({ alg: 'HS256', typ: 'logout+jwt' })
      .sign(new TextEncoder().encode(third))
    const answer = await person.step(`${setup.host.url}auth-oidc-backchannel-logout`, {
      form: [['logout_token', token]],
    })
    expect(answer.status).to.equal(200)
    expect(setup.reloads()).to.have.length(2)
  })

  it('sends a refused secret once, and sends the new secret after the file changes', async () => {
    const setup = await startWithFile()
    await setup.register({ client_secret: NEW })
    expect(await setup.canSignIn()).to.equal(false)
    expect(setup.lines('login-failed')[0]?.fields).to.include({ code: 'token_request_failed', error: 'invalid_client' })
    expect(setup.idp.requests('token')).to.equal(1)
    await writeFile(folder.path('secret'), NEW)
    await setup.clock.advance(1_000)
    expect(await setup.canSignIn()).to.equal(true)
    expect(setup.idp.requests('token')).to.equal(3)
    expect(setup.reloads()).to.have.length(1)
    setup.expectNoSecret()
  })

  it('logs an unreadable secret file once and keeps using the old secret', async () => {
    const setup = await startWithFile()
    await rm(folder.path('secret'))
    await setup.register({ client_secret: NEW })
    for (let login = 0; login < 2; login += 1) {
      expect(await setup.canSignIn()).to.equal(false)
      await setup.clock.advance(1_000)
    }
    expect(setup.reloads()).to.have.length(1)
    expect(setup.reloads()[0]).to.include({ event: 'client-secret-unreadable', level: 'warn' })
    await setup.register({ client_secret: OLD })
    expect(await setup.canSignIn()).to.equal(true)
  })

  it('reads the secret file again after 401 unauthorized_client, as Keycloak answers', async () => {
    const setup = await startWithFile()
    await writeFile(folder.path('secret'), NEW)
    await setup.register({ client_secret: NEW })
    const body = JSON.stringify({ error: 'unauthorized_client' })
    setup.idp.faults.set('token', { kind: 'answer', status: 401, body }, 1)
    expect(await setup.canSignIn()).to.equal(true)
  })

  it('after a 401 without a body, the next login uses the changed secret file', async () => {
    const setup = await startWithFile()
    await writeFile(folder.path('secret'), NEW)
    await setup.register({ client_secret: NEW })
    setup.idp.faults.set('token', { kind: 'answer', status: 401 }, 1)
    expect(await setup.canSignIn()).to.equal(false)
    expect(setup.idp.requests('token')).to.equal(1)
    expect(await setup.canSignIn()).to.equal(true)
    expect(setup.idp.requests('token')).to.equal(2)
  })

  // Shows: plugin 4.3.
  it('reads the secret file again only if the IdP refuses the client', async () => {
    const setup = await startWithFile()
    await writeFile(folder.path('secret'), NEW)
    for (const [status, error] of [
      [400, 'invalid_grant'],
      [400, 'unauthorized_client'],
      [500, 'server_error'],
    ] as const) {
      setup.idp.faults.set('token', { kind: 'answer', status, body: JSON.stringify({ error }) }, 1)
      expect(await setup.canSignIn()).to.equal(false)
    }
    expect(setup.idp.requests('token')).to.equal(3)
    expect(setup.reloads()).to.deep.equal([])
  })

  it('the checker with --live uses the new client secret if the secret file changed', async () => {
    const setup = await startWithFile()
    const config = {
      settings: { cert: '127.0.0.1' },
      domains: {
        '': {
          authStrategies: {
            oidc: {
              issuer: setup.idp.issuer,
              client: {
                client_id: 'mesh',
                client_secret_file: folder.path('secret'),
                redirect_uri: `${setup.host.url}auth-oidc-callback`,
              },
            },
          },
        },
      },
    }
    const settings = readDomains(config, { readFile: readTextFile }).domains[0]?.settings
    if (!settings) throw new Error('the configuration is wrong')
    await writeFile(folder.path('secret'), NEW)
    await setup.register({ client_secret: NEW })
    const verdicts = await askProvider(settings)
    expect(verdicts.find(({ question }) => question === 'secret or key')).to.include({ verdict: 'ok' })
  })
})
