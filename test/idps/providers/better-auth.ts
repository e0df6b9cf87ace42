import { execFile } from 'node:child_process'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort } from '../../support/host-process.ts'
import { makeServerFiles } from '../../support/server-files.ts'
import { because, CERTIFICATES, ENCRYPTED, FORM_POST, JARM } from '../support/cases.ts'
import { startCommanded } from '../support/commanded-process.ts'
import { fingerprint, keepOnce } from '../support/kept.ts'
import { answerConsent, asksForPassword } from '../support/pages.ts'
import { BOB, PEOPLE } from '../support/people.ts'
import type { ClientRegistration, ProviderPackage, RealIdp } from '../support/real-idp.ts'
import { refuseOthers } from '../support/understood.ts'
import { untilDiscovered } from '../support/until-discovered.ts'

/** Must equal the version in `better-auth/package.json`. */
const VERSION = '1.7.5'
const SOURCES = fileURLToPath(new URL('better-auth/', import.meta.url))
const INSTALL_LIMIT_MS = 300_000
const START_LIMIT_MS = 30_000
/** The algorithm of ID tokens if the client requests none. */
const DEFAULT_ALGORITHM = 'EdDSA'

export const betterAuth: ProviderPackage = {
  name: 'better-auth',
  startLimitMs: INSTALL_LIMIT_MS + START_LIMIT_MS,
  async install(scratch) {
    const folder = join(scratch, await fingerprint(SOURCES))
    const reason = await keepOnce(scratch, folder, async (coming) => {
      await cp(SOURCES, coming, { recursive: true })
      const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
      await promisify(execFile)('npm', ['install', ...options], { cwd: coming, timeout: INSTALL_LIMIT_MS })
      return undefined
    })
    if (reason !== undefined) return { kind: 'missing', reason: `npm does not install it: ${reason}` }
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
    keysByValue: true,
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
    reset: async () => void (await order('reset', { algorithm: DEFAULT_ALGORITHM, people: PEOPLE })),
    async register({ id_token_signed_response_alg: algorithm = DEFAULT_ALGORITHM, ...client }) {
      refuseOthers(client, UNDERSTOOD)
      if ((client.response_types ?? ['code']).join() !== 'code') throw new Error('has the response type code alone')
      await order('algorithm', algorithm)
      await order('client', client)
      return {
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
    // Better Auth leaves the login page to the application. Its own consent page has a button to deny.
    cancel: async (browser, page) =>
      answerConsent(browser, await browser.signIn(page, BOB.username, BOB.password), 'Deny'),
    confirmLogout: async (browser, page) => {
      const [form] = page.url.startsWith(issuer) ? page.forms : []
      return form ? browser.submit(form) : page
    },
    ownSessions: async ({ email }) => Number(await order('sessions', email)),
    endSessions: async ({ email }, selection) => void (await order('endSessions', { email, selection })),
  }
}

/**
 * Without a refresh token, the host checks the session by its access token. Until that token expires, such a check
 * finds more changes.
 */
const asksForRefreshToken = ({ rotates, lifeS }: NonNullable<ClientRegistration['renewal']> = {}) =>
  rotates !== undefined || lifeS !== undefined

const UNDERSTOOD = [
  ...(['dpop_bound_access_tokens', 'claimsIn'] as const),
  ...(['backchannel_logout_uri', 'backchannel_logout_session_required'] as const),
]

const CANNOT: RealIdp['cannot'] = {
  client_secret_jwt: 'it refuses a client with this method (unsupported token_endpoint_auth_method)',
  ...because('it knows no method with a certificate', ...CERTIFICATES),
  signed_userinfo: 'UserInfo is JSON only',
  ...because('it encrypts nothing', ...ENCRYPTED),
  ...because('its answers come in the query, with a code alone', ...FORM_POST, 'fragment', ...JARM),
  pushed: 'it has no endpoint for pushed requests',
  ...because('it answers request_not_supported', 'request_object', 'pushed_request_object'),
}
