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

/** As `canaille/requirements.txt` has it. */
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
      // Debian has Python without what a folder of its own needs.
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
  const [database, kept] = [join(files, 'canaille.sqlite'), join(files, 'kept.sqlite')]
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
  /** @param given members with several values stand there several times */
  const command = (words: readonly string[], given: Readonly<Record<string, Option>> = {}) =>
    order('run', [...words, ...Object.entries(given).flatMap(([name, value]) => option(name, value))])

  const configure = () => writeFile(configFile, configuration(database), { mode: 0o600 })
  /** What it calls itself is in its environment. */
  const start = (program: string, at: string, ...options: readonly string[]) => {
    const { protocol, host } = new URL(at)
    const env = { CANAILLE_CONFIG: configFile, SERVER_NAME: host, PREFERRED_URL_SCHEME: protocol.slice(0, -1) }
    return startCommanded(python, [join(SOURCES, program), ...options], { cwd: files, env })
  }
  const serve = (at: string, ...options: readonly string[]) =>
    start('server.py', at, '--bind', `127.0.0.1:${new URL(at).port}`, ...options)
  async function startServers() {
    const plain = serve(issuer)
    servers = [plain, serve(secureIssuer, '--certfile', certFile, '--keyfile', keyFile)]
    await untilDiscovered(issuer, plain, START_LIMIT_MS)
  }
  async function stopServers() {
    await Promise.all(servers.map((one) => one.close()))
    servers = []
  }
  /** It has no group without members. */
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
    orders = start('orders.py', issuer, database, kept)
    await command(['install'])
    for (const person of PEOPLE) {
      await command(['create', 'user'], { 'user-name': person.username, ...ofPerson(person) })
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
      // It keeps the keys of a client for 50 seconds under the client's name.
      const id = client.jwks_uri === undefined ? client.client_id : `${client.client_id}-${randomUUID()}`
      const words = registered.has(id) ? ['set', 'client', id] : ['create', 'client']
      registered.add(id)
      await command(words, ofClient({ ...client, client_id: id }))
      // Only a client that is there can be an audience, and without one `aud` is empty.
      await command(['set', 'client', id], { audience: id })
      const { client_secret, id_token_signed_response_alg: algorithm = ITS_ALGORITHM } = client
      return {
        client_id: id,
        client: { id_token_signed_response_alg: algorithm, ...(client_secret === undefined ? {} : AT_OTHER_ENDPOINTS) },
      }
    },
    async setPerson(person) {
      await command(['set', 'user', person.username], ofPerson(person))
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
        if (!link) throw new Error(`nothing to take back at ${page.url}: ${page.text}`)
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
    // Only its consent page has a way back.
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
 * What a client gets that names none here. An access token has the same signature, and tells nothing but the second:
 * with RS256, whose signatures are the same too, the second of two logins of one person within a second is an error 500
 * of its database.
 */
const ITS_ALGORITHM = 'ES256'

/** Introspection and revocation take nothing else, as it publishes, whatever a client has at the token endpoint. */
const AT_OTHER_ENDPOINTS = {
  introspection_endpoint_auth_method: 'client_secret_basic',
  revocation_endpoint_auth_method: 'client_secret_basic',
}

type Option = string | boolean | readonly string[] | undefined

function option(name: string, value: Option): string[] {
  if (value === undefined) return []
  const values = Array.isArray(value) ? value : [String(value)]
  return values.flatMap((one) => [`--${name}`, one])
}

const GROUPS = new Set(PEOPLE.flatMap(({ groups }) => groups))

const ofPerson = (person: Person) => ({
  'formatted-name': fullName(person),
  'given-name': person.givenName,
  'family-name': person.familyName,
  emails: person.email,
  password: person.password,
})

function ofClient(client: ClientRegistration): Readonly<Record<string, Option>> {
  const { groups, jwks, jwks_uri: address, renewal, response_types: types = ['code'], ...others } = client
  const same = Object.entries(others).map(([name, value]) => [name.replaceAll('_', '-'), value as Option] as const)
  return {
    'token-endpoint-auth-method': 'client_secret_basic',
    'id-token-signed-response-alg': ITS_ALGORITHM,
    ...Object.fromEntries(same),
    'client-name': client.client_id,
    // One of its trusted domains: nobody is asked for consent. With prompt=login that page asks for the password again,
    // and comes again.
    'client-uri': renewal?.asksConsent ? '' : 'http://127.0.0.1/',
    'grant-types': ['authorization_code', 'refresh_token', ...(types.includes('code') ? [] : ['implicit'])],
    'response-types': [...new Set(types.flatMap((type) => type.split(' ')))],
    scope: ['openid', 'profile', 'email', ...(groups === 'by_scope' ? ['groups'] : [])],
    ...(jwks ? { jwks: JSON.stringify(jwks) } : { 'jwks-uri': address }),
  }
}

/** With new keys each time. */
function configuration(database: string): string {
  // It signs with any key of the type that an algorithm needs, whatever its curve: a second one for curves would be an
  // error at times.
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

/** A page for the name and one for the password; who is known already gets the second alone. */
async function authenticate(browser: ScriptedBrowser, page: Page, { username, password }: Person): Promise<Page> {
  return fillIn(browser, await fillIn(browser, page, 'login', username), 'password', password)
}

async function fillIn(browser: ScriptedBrowser, page: Page, field: string, value: string): Promise<Page> {
  const form = formWith(page, field)
  if (!form) return page
  return send(browser, page, form, [...form.fields.filter(([name]) => name !== field), [field, value]])
}

async function answer(browser: ScriptedBrowser, page: Page, value: 'accept' | 'deny' | 'logout'): Promise<Page> {
  const form = page.forms.find(({ buttons }) => buttons.some((one) => one.name === 'answer' && one.value === value))
  return form ? send(browser, page, form, [...form.fields, ['answer', value]]) : page
}

/** With where it comes from, as browsers say it: by TLS it takes no form without. */
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
  signed_es512: 'it signs with any key for elliptic curves that it has, so that it can have one only, on P-256',
  signed_hs256: 'it signs with keys of its own only',
  signed_userinfo: 'all claims are in the ID token too (it has a test of its own)',
  ...because('it encrypts nothing', ...ENCRYPTED),
  ...because('its response modes are query and fragment', ...FORM_POST, ...JARM),
  fragment: 'a code comes in the query, whatever is asked for',
  ...because('it has no endpoint for pushed requests', 'pushed', 'pushed_request_object'),
  dpop: 'it binds no tokens',
  ...because('it sends no logout tokens', ...BACKCHANNEL),
  introspection_disabled: 'tokens of a locked user stay active',
  introspection_ended: 'its sessions are in cookies, which nobody can end but the browser',
}
