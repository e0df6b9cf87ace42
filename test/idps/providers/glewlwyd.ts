import { join } from 'node:path'
import { CookieJar } from '../../../fixtures/browser/cookie-jar.ts'
import { makeClientCertificate } from '../../../fixtures/certificate.ts'
import { openDatabase } from '../../../fixtures/host/database.ts'
import { freePort } from '../../support/host-process.ts'
import { makeServerFiles } from '../../support/server-files.ts'
import { type StartedProgram, startProgram } from '../../support/started-program.ts'
import { unpackPackages } from '../support/debian-packages.ts'
import { answersAt } from '../support/endpoint-check.ts'
import { fullName, PEOPLE, type Person } from '../support/people.ts'
import type { ProviderPackage, RealIdp } from '../support/real-idp.ts'
import { type Api, apiAt } from './glewlwyd/api.ts'
import { FURTHER_PROPERTIES, toClient } from './glewlwyd/client.ts'
import { CANNOT } from './glewlwyd/limits.ts'
import { keyIdOf, makeSigningKeys, pluginParameters } from './glewlwyd/oidc-plugin.ts'
import { pagesAt } from './glewlwyd/pages.ts'
import { findProgram, type Program, writeConfiguration } from './glewlwyd/server.ts'

const INSTALL_LIMIT_MS = 240_000
const START_LIMIT_MS = 60_000
/** The account that Glewlwyd's database schema creates. */
const ADMINISTRATOR = { username: 'admin', password: 'password' }
const SCOPES = ['openid', 'profile', 'email', 'groups']

/** Glewlwyd, with what only its own tests need. */
export interface Glewlwyd extends RealIdp {
  /** Refuses requests with a code challenge until the next `reset`, as a fresh installation does. */
  forbidPkce(): Promise<void>
}

export const glewlwyd: ProviderPackage<Glewlwyd> = {
  name: 'Glewlwyd',
  startLimitMs: INSTALL_LIMIT_MS + START_LIMIT_MS,
  async install(scratch) {
    // The configuration is ours, so Debian's package must not ask for the database.
    const unpacked = await unpackPackages(join(scratch, 'debian'), ['glewlwyd', 'dbconfig-no-thanks'])
    if (unpacked.kind === 'missing') return unpacked
    return { kind: 'installed', idp: await createGlewlwyd(await findProgram(unpacked.root)) }
  },
}

async function createGlewlwyd(program: Program): Promise<Glewlwyd> {
  const { folder, write, ...files } = await makeServerFiles('glewlwyd')
  const [origin, secureOrigin] = [`http://localhost:${await freePort()}`, `https://localhost:${await freePort()}`]
  const [issuer, secureIssuer] = [`${origin}/api/oidc`, `${secureOrigin}/api/secure`]
  const clientCertificate = await makeClientCertificate()
  // Direct access to the database, for what the administration API cannot do.
  const database = await openDatabase(join(folder, 'glewlwyd.db'))
  const tls = { key: files.keyFile, cert: files.certFile, ca: await write('client-ca.pem', clientCertificate.cert) }

  let running: readonly StartedProgram[] = []
  let version = 0
  const firstKeys = makeSigningKeys(version)
  let plugin = { keys: firstKeys, groupsUnasked: false, pushedOnly: false, pkce: true, rotates: false }
  const admin = apiAt(origin, new CookieJar())

  const serve = async (url: string, ca?: string) => {
    const file = await writeConfiguration(folder, program, url, url === secureOrigin ? tls : undefined)
    const ready = answersAt(`${url}/config`, ca)
    return startProgram(program.path, ['-c', file], { env: program.environment, ready, limitMs: START_LIMIT_MS })
  }
  /**
   * Installs the schema, administrator, properties, scopes and plugins. Until the plugin exists, discovery answers
   * nothing.
   */
  const furnish = async () => {
    await database.exec(program.schema)
    const first = await serve(origin)
    await admin.call('POST', '/auth/', ADMINISTRATOR)
    await declareProperties(admin, 'user', { groups: true })
    await declareProperties(admin, 'client', FURTHER_PROPERTIES)
    for (const name of SCOPES.slice(1)) {
      await admin.call('POST', '/scope/', { name, password_required: true, password_max_age: 0, scheme: {} })
    }
    for (const [name, url] of Object.entries({ oidc: issuer, secure: secureIssuer })) {
      const parameters = pluginParameters({ ...plugin, issuer: url })
      await admin.call('POST', '/mod/plugin/', { module: 'oidc', name, display_name: name, enabled: true, parameters })
    }
    await first.stop()
  }
  const configure = async (changed: Partial<typeof plugin>) => {
    const next = { ...plugin, ...changed }
    if (Object.entries(next).every(([name, value]) => plugin[name as keyof typeof plugin] === value)) return
    plugin = next
    const parameters = pluginParameters({ ...plugin, issuer })
    await admin.call('PUT', '/mod/plugin/oidc', { display_name: 'oidc', parameters })
    await admin.call('PUT', '/mod/plugin/oidc/reset/')
  }
  const setPerson = async (person: Person, enabled = true) => {
    const { username } = person
    const users = (await admin.call('GET', '/user/')) as readonly { username: string }[]
    const user = toUser(person, enabled)
    if (users.some((user) => user.username === username)) await admin.call('PUT', `/user/${username}`, user)
    else await admin.call('POST', '/user/', { ...user, username })
  }
  const stop = async () => {
    await Promise.all(running.map((group) => group.stop()))
    running = []
  }

  return {
    version: program.version,
    issuer,
    secure: { issuer: secureIssuer, ca: files.ca, clientCertificate },
    cannot: CANNOT,
    ownPage: new Set(['wrong_client_id', 'wrong_redirect_uri', 'wrong_post_logout']),
    keysByValue: true,
    groupName: (name) => name,
    refusesWithoutWords: true,
    refusedToPublic: ['introspection-failed', 'logout-incomplete'],
    async start() {
      if (running.length > 0) return
      if (version === 0) {
        await furnish()
        version = 1
      }
      running = await Promise.all([serve(origin), serve(secureOrigin, files.ca)])
    },
    stop,
    async close() {
      await stop()
      await database.close()
      await files.remove()
    },
    async reset() {
      await database.exec(FORGET)
      await admin.call('POST', '/auth/', ADMINISTRATOR)
      await configure({ keys: firstKeys, groupsUnasked: false, pushedOnly: false, pkce: true, rotates: false })
      for (const { client_id } of (await admin.call('GET', '/client/')) as readonly { client_id: string }[]) {
        await admin.call('DELETE', `/client/${client_id}`)
      }
      for (const person of PEOPLE) await setPerson(person)
    },

    forbidPkce: () => configure({ pkce: false }),

    async register(client) {
      const [, keys] = String(plugin.keys[0]?.kid).split('-')
      const registration = toClient(client, (alg) => keyIdOf(alg, Number(keys)))
      await configure({
        groupsUnasked: client.groups === 'unasked',
        pushedOnly: client.require_pushed_authorization_requests === true,
        rotates: client.renewal?.rotates === true,
      })
      const { client_id, token_endpoint_auth_method: method = '' } = client
      await admin.call('DELETE', `/client/${client_id}`).catch(() => undefined)
      await admin.call('POST', '/client/', registration)
      // Glewlwyd answers 403 without a reason to an assertion with the issuer as audience.
      return method.endsWith('_jwt') ? { client: { assertion_audience: 'address' } } : {}
    },
    setPerson: (person) => setPerson(person),
    disable: (person) => setPerson(person, false),
    acts: {
      delete: ({ username }) => admin.call('DELETE', `/user/${username}`),
      async revokeConsent({ username, password }) {
        const api = apiAt(origin, new CookieJar())
        await api.call('POST', '/auth/', { username, password })
        await api.call('PUT', '/auth/grant/mesh', { scope: '' })
      },
      age: () => database.run('UPDATE gpo_refresh_token SET gpor_expires_at = 1'),
    },
    async rotateKeys() {
      version += 1
      await configure({ keys: makeSigningKeys(version) })
      for (const client of (await admin.call('GET', '/client/')) as readonly {
        client_id: string
        sign_kid: string
      }[]) {
        const [alg = ''] = client.sign_kid.split('-')
        await admin.call('PUT', `/client/${client.client_id}`, { ...client, sign_kid: keyIdOf(alg, version) })
      }
    },

    ...pagesAt(origin),

    async ownSessions({ username }) {
      const query = 'SELECT gus_id FROM g_user_session WHERE gus_username = ? AND gus_enabled = 1'
      return (await database.all(query, username)).length
    },
    // Ends sessions as the person would. Glewlwyd's administration API cannot.
    async endSessions({ username, password }, selection) {
      const query = 'SELECT gpoi_sid AS sid FROM gpo_id_token WHERE gpoi_username = ? ORDER BY gpoi_id DESC'
      const sids = new Set((await database.all<{ sid: string }>(query, username)).map(({ sid }) => sid))
      const api = apiAt(origin, new CookieJar())
      await api.call('POST', '/auth/', { username, password })
      for (const sid of selection === 'newest' ? [...sids].slice(0, 1) : sids) {
        await api.call('DELETE', `/oidc/session/${sid}`)
      }
    },
  }
}

/** Declares further properties of users or clients in Glewlwyd's database module. */
async function declareProperties(admin: Api, kind: 'user' | 'client', properties: Readonly<Record<string, boolean>>) {
  const module = (await admin.call('GET', `/mod/${kind}/database`)) as {
    parameters: { 'data-format': Record<string, unknown> }
  }
  for (const [name, multiple] of Object.entries(properties)) {
    module.parameters['data-format'][name] = { multiple, read: true, write: true }
  }
  await admin.call('PUT', `/mod/${kind}/database`, module)
  await admin.call('PUT', `/mod/${kind}/database/reset/`)
}

function toUser(person: Person, enabled: boolean): Record<string, unknown> {
  const { email, password, groups } = person
  return { name: fullName(person), email, password, groups, enabled, scope: ['g_profile', ...SCOPES] }
}

/** Deletes everything that logins left behind. */
const FORGET = [
  'DELETE FROM g_client_user_scope',
  'DELETE FROM gpo_code',
  'DELETE FROM gpo_refresh_token',
  'DELETE FROM gpo_access_token',
  'DELETE FROM gpo_id_token',
  'DELETE FROM g_user_session',
].join(';')
