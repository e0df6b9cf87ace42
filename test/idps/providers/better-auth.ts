import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort } from '../../support/host-process.ts'
import { makeServerFiles } from '../../support/server-files.ts'
import { startCommanded } from '../support/commanded-process.ts'
import { keepOnce } from '../support/kept.ts'
import { answerConsent, asksForPassword } from '../support/pages.ts'
import { BOB, PEOPLE } from '../support/people.ts'
import type { ClientRegistration, ProviderPackage, RealIdp } from '../support/real-idp.ts'
import { refuseOthers } from '../support/understood.ts'
import { untilDiscovered } from '../support/until-discovered.ts'

/** As `better-auth/package.json` has it. */
const VERSION = '1.7.5'
const SOURCES = fileURLToPath(new URL('better-auth/', import.meta.url))
const INSTALL_LIMIT_MS = 300_000
const START_LIMIT_MS = 30_000
/** Of ID tokens, where nobody chooses. */
const ITS_ALGORITHM = 'EdDSA'

export const betterAuth: ProviderPackage = {
  name: 'better-auth',
  startLimitMs: INSTALL_LIMIT_MS + START_LIMIT_MS,
  async install(scratch) {
    const wanted = await readFile(join(SOURCES, 'package.json'))
    const folder = join(scratch, createHash('sha256').update(wanted).digest('hex').slice(0, 16))
    const reason = await keepOnce(scratch, folder, async (coming) => {
      await cp(join(SOURCES, 'package.json'), join(coming, 'package.json'))
      const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
      await promisify(execFile)('npm', ['install', ...options], { cwd: coming, timeout: INSTALL_LIMIT_MS })
      return undefined
    })
    if (reason !== undefined) return { kind: 'missing', reason: `npm does not install it: ${reason}` }
    // Beside what it imports.
    await cp(join(SOURCES, 'server.mjs'), join(folder, 'server.mjs'))
    return { kind: 'installed', idp: await provider(join(folder, 'server.mjs')) }
  },
}

async function provider(program: string): Promise<RealIdp> {
  const [port, securePort] = [await freePort(), await freePort()]
  const { ca, certFile: certificateFile, keyFile, remove } = await makeServerFiles('better-auth')
  const issuer = `http://localhost:${port}/api/auth`
  let running: ReturnType<typeof startCommanded> | undefined
  const order = (verb: string, given?: unknown) => {
    if (!running) throw new Error('not started')
    return running.command(verb, given)
  }
  return {
    version: VERSION,
    issuer,
    secure: { issuer: `https://localhost:${securePort}/api/auth`, ca },
    cannot: CANNOT,
    ownPage: new Set(['wrong_client_id', 'wrong_redirect_uri']),
    groupName: (name) => name,
    refusedToPublic: ['introspection-failed'],
    async start() {
      const options = JSON.stringify({ port, securePort, certificateFile, keyFile })
      running ??= startCommanded(process.execPath, [program, options])
      await order('listen')
      await untilDiscovered(issuer, running, START_LIMIT_MS)
    },
    async stop() {
      if (running?.isUp()) await order('away')
    },
    async close() {
      await running?.close()
      await remove()
    },
    reset: async () => void (await order('reset', { algorithm: ITS_ALGORITHM, people: PEOPLE })),
    async register({ id_token_signed_response_alg: algorithm = ITS_ALGORITHM, ...client }) {
      refuseOthers(client, UNDERSTOOD)
      if ((client.response_types ?? ['code']).join() !== 'code') throw new Error('has the response type code alone')
      await order('algorithm', algorithm)
      // It takes one of the two.
      const { jwks_uri: address, jwks } = client
      await order('client', { ...client, jwks_uri: jwks ? undefined : address })
      const { client_id, client_secret } = client
      return {
        client_id,
        ...(client_secret === undefined ? {} : { client_secret }),
        client: { id_token_signed_response_alg: algorithm },
        ...(asksForRefreshToken(client.renewal)
          ? { oidc: { custom: { scope: 'openid profile email offline_access' } } }
          : {}),
      }
    },
    setPerson: async (person) => void (await order('person', person)),
    disable: async ({ email }) => void (await order('disable', email)),
    acts: {
      delete: ({ email }) => order('delete', email),
      setPassword: (person) => order('setPassword', person),
      revokeConsent: (person) => order('revokeConsent', person),
      age: () => order('age'),
    },
    rotateKeys: async () => void (await order('rotate')),
    signIn: async (browser, page, { username, password }) =>
      answerConsent(browser, await browser.signIn(page, username, password), 'Allow'),
    asksWho: asksForPassword,
    // An application's own login page may have a way back; the plugin's is that of the consent page.
    cancel: async (browser, page) =>
      answerConsent(browser, await browser.signIn(page, BOB.username, BOB.password), 'Deny'),
    confirmLogout: async (browser, page) => {
      const [form] = page.url.startsWith(issuer) ? page.forms : []
      return form ? browser.submit(form) : page
    },
    ownSessions: async ({ email }) => Number(await order('sessions', email)),
    endSessions: async ({ email }, which) => void (await order('endSessions', { email, which })),
  }
}

/** Without them a session is asked about by its access token, which finds more, as long as that lasts. */
const asksForRefreshToken = ({ rotates, lifeS }: NonNullable<ClientRegistration['renewal']> = {}) =>
  rotates !== undefined || lifeS !== undefined

const UNDERSTOOD: readonly (keyof ClientRegistration)[] = [
  ...(['client_id', 'client_secret', 'redirect_uris', 'post_logout_redirect_uris', 'response_types'] as const),
  ...([
    'token_endpoint_auth_method',
    'jwks',
    'jwks_uri',
    'dpop_bound_access_tokens',
    'groups',
    'claimsIn',
    'renewal',
  ] as const),
  ...(['backchannel_logout_uri', 'backchannel_logout_session_required'] as const),
]

const CODE_ALONE = 'the response type code is the only one, and its answers come in the query'
const NO_ENCRYPTION = 'it encrypts nothing'
const NO_REQUEST_OBJECT = 'it answers request_not_supported'
const NO_CERTIFICATE = 'it knows no method with a certificate'

const CANNOT: RealIdp['cannot'] = {
  client_secret_jwt: 'it refuses a client with this method (unsupported token_endpoint_auth_method)',
  private_key_jwt:
    'key sets by address have to be public and on HTTPS (keys in the registration have a test of their own)',
  tls_client_auth: NO_CERTIFICATE,
  self_signed_tls_client_auth: NO_CERTIFICATE,
  signed_userinfo: 'UserInfo is JSON only',
  encrypted_rsa_oaep: NO_ENCRYPTION,
  encrypted_rsa_oaep_256: NO_ENCRYPTION,
  encrypted_ecdh_es: NO_ENCRYPTION,
  encrypted_userinfo: NO_ENCRYPTION,
  form_post_code: CODE_ALONE,
  form_post_hybrid: CODE_ALONE,
  form_post_id_token: CODE_ALONE,
  fragment: CODE_ALONE,
  jarm_query: CODE_ALONE,
  jarm_form_post: CODE_ALONE,
  pushed: 'it has no endpoint for pushed requests',
  request_object: NO_REQUEST_OBJECT,
  pushed_request_object: NO_REQUEST_OBJECT,
}
