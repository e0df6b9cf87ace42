import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Form } from '../../../fixtures/browser/markup.ts'
import { type Page, ScriptedBrowser } from '../../../fixtures/browser.ts'
import { makeKey } from '../../support/client-keys.ts'
import { freePort } from '../../support/host-process.ts'
import { makeServerFiles } from '../../support/server-files.ts'
import { BACKCHANNEL, because, CERTIFICATES, ENCRYPTED, FORM_POST, JARM } from '../support/cases.ts'
import { type CommandedProcess, startCommanded } from '../support/commanded-process.ts'
import { fingerprint, keepOnce } from '../support/kept.ts'
import { asksForPassword, formWith } from '../support/pages.ts'
import { BOB, fullName, PEOPLE, type Person } from '../support/people.ts'
import type { ClientRegistration, ProviderPackage, RealIdp } from '../support/real-idp.ts'
import { installPackages, needPrograms } from '../support/system-packages.ts'
import { refuseOthers } from '../support/understood.ts'
import { untilDiscovered } from '../support/until-discovered.ts'

/** Must equal the version in `canaille/requirements.txt`. */
const VERSION = '0.3.6'
const SOURCES = fileURLToPath(new URL('canaille/', import.meta.url))
const INSTALL_LIMIT_MS = 400_000
const START_LIMIT_MS = 60_000

const run = promisify(execFile)

export const canaille: ProviderPackage = {
  name: 'Canaille',
  startLimitMs: INSTALL_LIMIT_MS + START_LIMIT_MS,
  async install(scratch) {
    const reason = await needPrograms({ 'python3.11': 'python3.11-venv' })
    if (reason !== undefined) return { kind: 'missing', reason }
    const folder = join(scratch, await fingerprint(SOURCES))
    const failed = await keepOnce(scratch, folder, async (coming) => {
      const make = () => run('python3.11', ['-m', 'venv', coming], { timeout: INSTALL_LIMIT_MS })
      // Debian's Python lacks the module that creates virtual environments.
      await make().catch(async () => {
        const missing = await installPackages(['python3.11-venv'])
        if (missing !== undefined) throw new Error(missing)
        await make()
      })
      const options = ['--quiet', '--disable-pip-version-check', '--requirement', join(SOURCES, 'requirements.txt')]
      await run(join(coming, 'bin/python'), ['-m', 'pip', 'install', ...options], { timeout: INSTALL_LIMIT_MS })
      return undefined
    })
    if (failed !== undefined) return { kind: 'missing', reason: `pip does not install it: ${failed}` }
    return { kind: 'installed', idp: await provider(join(folder, 'bin/python')) }
  },
}

async function provider(python: string): Promise<RealIdp> {
  const { folder: files, ca, certFile, keyFile, remove } = await makeServerFiles('canaille')
  const [database, backup] = [join(files, 'canaille.sqlite'), join(files, 'kept.sqlite')]
  const [issuer, secureIssuer] = [`http://localhost:${await freePort()}`, `https://localhost:${await freePort()}`]
  const configFile = join(files, 'canaille.toml')

  let orders: CommandedProcess | undefined
  let servers: readonly CommandedProcess[] = []
  let rotated = false
  const registered = new Set<string>()
  let people: readonly Person[] = []
  const order = (verb: string, given?: unknown) => {
    if (!orders) throw new Error('not started')
    return orders.command(verb, given)
  }
  /** Runs a command of Canaille. @param given options; a list repeats the option once for each value */
  const command = (words: readonly string[], options: Readonly<Record<string, Option>> = {}) =>
    order('run', [...words, ...Object.entries(options).flatMap(([name, value]) => option(name, value))])

  const configure = () => writeFile(configFile, configuration(database), { mode: 0o600 })
  /** Starts a program of the sources. Canaille takes its own address from the environment. */
  const start = (program: string, address: string, ...options: readonly string[]) => {
    const { protocol, host } = new URL(address)
    const env = { CANAILLE_CONFIG: configFile, SERVER_NAME: host, PREFERRED_URL_SCHEME: protocol.slice(0, -1) }
    return startCommanded(python, [join(SOURCES, program), ...options], { cwd: files, env })
  }
  const serve = (address: string, ...options: readonly string[]) =>
    start('server.py', address, '--bind', `127.0.0.1:${new URL(address).port}`, ...options)
  async function startServers() {
    const plain = serve(issuer)
    servers = [plain, serve(secureIssuer, '--certfile', certFile, '--keyfile', keyFile)]
    await untilDiscovered(issuer, plain, START_LIMIT_MS)
  }
  async function stopServers() {
    await Promise.all(servers.map((server) => server.close()))
    servers = []
  }
  /** Sets a person's groups. Canaille has no empty groups, so each group is deleted and created with its members. */
  async function setMembers(person: Person) {
    people = [...people.filter(({ username }) => username !== person.username), person]
    for (const name of GROUPS) {
      await command(['delete', 'group', '--noconfirm'], { 'display-name': name }).catch(() => undefined)
      const members = people.flatMap(({ username, groups }) => (groups.includes(name) ? [username] : []))
      if (members.length > 0) await command(['create', 'group'], { 'display-name': name, members })
    }
  }
  async function install() {
    await configure()
    orders = start('orders.py', issuer, database, backup)
    await command(['install'])
    for (const person of PEOPLE) {
      await command(['create', 'user'], { 'user-name': person.username, ...userOptions(person) })
      await setMembers(person)
    }
    await order('keep')
  }
  return {
    version: VERSION,
    issuer,
    secure: { issuer: secureIssuer, ca },
    cannot: CANNOT,
    ownPage: new Set(['wrong_client_id', 'wrong_redirect_uri']),
    groupName: (name) => name,
    refusedToPublic: ['introspection-failed', 'logout-incomplete'],
    async start() {
      if (!orders) await install()
      if (servers.length === 0) await startServers()
    },
    stop: stopServers,
    async close() {
      await stopServers()
      await orders?.close()
      await remove()
    },
    async reset() {
      await order('restore')
      registered.clear()
      people = PEOPLE
      if (rotated) await rotate()
      rotated = false
    },
    async register(client) {
      refuseOthers(client, UNDERSTOOD)
      // Canaille caches a client's keys for 50 seconds by client id, so use a new id.
      const id = client.jwks_uri === undefined ? client.client_id : `${client.client_id}-${randomUUID()}`
      const words = registered.has(id) ? ['set', 'client', id] : ['create', 'client']
      registered.add(id)
      await command(words, clientOptions({ ...client, client_id: id }))
      // An audience must be an existing client. Without an audience, `aud` is empty.
      await command(['set', 'client', id], { audience: id })
      const { client_secret, id_token_signed_response_alg: algorithm = DEFAULT_ALGORITHM } = client
      return {
        client_id: id,
        client: { id_token_signed_response_alg: algorithm, ...(client_secret === undefined ? {} : AT_OTHER_ENDPOINTS) },
      }
    },
    async setPerson(person) {
      await command(['set', 'user', person.username], userOptions(person))
      await setMembers(person)
    },
    disable: async ({ username }) =>
      void (await command(['set', 'user', username], { 'lock-date': '2020-01-01T00:00:00Z' })),
    acts: {
      delete: ({ username }) => command(['delete', 'user', '--noconfirm'], { 'user-name': username }),
      async revokeConsent(person) {
        const browser = new ScriptedBrowser()
        await authenticate(browser, await browser.get(`${issuer}/login`), person)
        const page = await browser.get(`${issuer}/consent/`)
        const link = page.links.find(({ href }) => href.includes('/consent/revoke/'))
        if (!link) throw new Error(`no consent to revoke at ${page.url}: ${page.text}`)
        await browser.get(link.href)
      },
      age: () => order('age'),
    },
    async rotateKeys() {
      rotated = true
      await rotate()
    },
    signIn: async (browser, page, person) => answer(browser, await authenticate(browser, page, person), 'accept'),
    asksWho: (page) => formWith(page, 'login') !== undefined || asksForPassword(page),
    // The login page has no cancel button; the consent page has one.
    async cancel(browser, page) {
      for (const id of registered) await command(['set', 'client', id], { 'client-uri': '' })
      return answer(browser, await authenticate(browser, page, BOB), 'deny')
    },
    confirmLogout: (browser, page) => answer(browser, page, 'logout'),
    ownSessions: async () => undefined,
  }

  async function rotate() {
    await stopServers()
    await configure()
    await startServers()
  }
}

/**
 * The algorithm for a client that requests none. Access tokens use it too, and contain the time in whole seconds. RS256
 * signatures are deterministic: two logins of one person within a second would yield equal tokens, and Canaille's
 * database would answer with an error 500.
 */
const DEFAULT_ALGORITHM = 'ES256'

/** Introspection and revocation accept only this method, as Canaille publishes, independently of the token endpoint. */
const AT_OTHER_ENDPOINTS = {
  introspection_endpoint_auth_method: 'client_secret_basic',
  revocation_endpoint_auth_method: 'client_secret_basic',
}

type Option = string | boolean | readonly string[] | undefined

function option(name: string, value: Option): string[] {
  if (value === undefined) return []
  const values = Array.isArray(value) ? value : [String(value)]
  return values.flatMap((text) => [`--${name}`, text])
}

const GROUPS = new Set(PEOPLE.flatMap(({ groups }) => groups))

const userOptions = (person: Person) => ({
  'formatted-name': fullName(person),
  'given-name': person.givenName,
  'family-name': person.familyName,
  emails: person.email,
  password: person.password,
})

function clientOptions(client: ClientRegistration): Readonly<Record<string, Option>> {
  const { groups, jwks, jwks_uri: address, renewal, response_types: types = ['code'], ...rest } = client
  const same = Object.entries(rest).map(([name, value]) => [name.replaceAll('_', '-'), value as Option] as const)
  return {
    'token-endpoint-auth-method': 'client_secret_basic',
    'id-token-signed-response-alg': DEFAULT_ALGORITHM,
    ...Object.fromEntries(same),
    'client-name': client.client_id,
    // Clients at a trusted domain need no consent. Otherwise, with prompt=login, the consent page asks for the password
    // and then appears again.
    'client-uri': renewal?.asksConsent ? '' : 'http://127.0.0.1/',
    'grant-types': ['authorization_code', 'refresh_token', ...(types.includes('code') ? [] : ['implicit'])],
    'response-types': [...new Set(types.flatMap((type) => type.split(' ')))],
    scope: ['openid', 'profile', 'email', ...(groups === 'by_scope' ? ['groups'] : [])],
    ...(jwks ? { jwks: JSON.stringify(jwks) } : { 'jwks-uri': address }),
  }
}

/** Returns the configuration file, with new keys each time. */
function configuration(database: string): string {
  // Canaille signs with any key of the required type. A second elliptic curve would fail at random.
  const keys = (['RSA', 'P-256', 'Ed25519'] as const).map((kind) => makeKey(kind, { kid: randomUUID(), use: 'sig' }))
  const inline = (members: object) =>
    `{ ${Object.entries(members)
      .map(([name, value]) => `${name} = ${JSON.stringify(value)}`)
      .join(', ')} }`
  return [
    'SECRET_KEY = "of an installation on loopback, which nothing depends on"',
    '[CANAILLE]',
    'DATABASE = "sql"',
    'JAVASCRIPT = false',
    '[CANAILLE_SQL]',
    `DATABASE_URI = "sqlite:///${database}"`,
    '[CANAILLE_OIDC]',
    `ACTIVE_JWKS = [${keys.map((key) => inline(key.private)).join(', ')}]`,
    '',
  ].join('\n')
}

/** Signs in on two pages: user name, then password. For a person who is signed in already, only the second appears. */
async function authenticate(browser: ScriptedBrowser, page: Page, { username, password }: Person): Promise<Page> {
  return fillIn(browser, await fillIn(browser, page, 'login', username), 'password', password)
}

async function fillIn(browser: ScriptedBrowser, page: Page, field: string, value: string): Promise<Page> {
  const form = formWith(page, field)
  if (!form) return page
  return send(browser, page, form, [...form.fields.filter(([name]) => name !== field), [field, value]])
}

async function answer(browser: ScriptedBrowser, page: Page, value: 'accept' | 'deny' | 'logout'): Promise<Page> {
  const form = page.forms.find(({ buttons }) =>
    buttons.some((button) => button.name === 'answer' && button.value === value),
  )
  return form ? send(browser, page, form, [...form.fields, ['answer', value]]) : page
}

/** Submits a form with a Referer header, as browsers do. Over TLS, Canaille refuses forms without one. */
function send(browser: ScriptedBrowser, page: Page, { action }: Form, fields: Form['fields']): Promise<Page> {
  return browser.get(action, { form: fields, headers: { referer: page.url } })
}

const UNDERSTOOD = [
  ...(['token_endpoint_auth_signing_alg', 'jwks_uri'] as const),
  ...(['id_token_signed_response_alg', 'userinfo_signed_response_alg'] as const),
  ...(['request_object_signing_alg', 'require_signed_request_object'] as const),
]

const CANNOT: RealIdp['cannot'] = {
  client_secret_jwt: 'it looks for a key set of the client (No matching JWK)',
  ...because('it knows no method with a certificate', ...CERTIFICATES),
  groups_unasked: 'groups come with the scope of that name only',
  userinfo_only: 'the ID token has all claims of the scopes',
  id_token_only: 'UserInfo has all claims of the scopes',
  signed_es512: 'it signs with any elliptic-curve key that it has, so it can have only one, on P-256',
  signed_hs256: 'it signs with its own keys only',
  signed_userinfo: 'all claims are in the ID token too (it has a test of its own)',
  ...because('it encrypts nothing', ...ENCRYPTED),
  ...because('its response modes are query and fragment', ...FORM_POST, ...JARM),
  fragment: 'a code comes in the query, whatever the client requests',
  ...because('it has no endpoint for pushed requests', 'pushed', 'pushed_request_object'),
  dpop: 'it binds no tokens',
  ...because('it sends no logout tokens', ...BACKCHANNEL),
  introspection_disabled: 'tokens of a locked user stay active',
  introspection_ended: 'its sessions are in cookies, which only the browser can end',
}
