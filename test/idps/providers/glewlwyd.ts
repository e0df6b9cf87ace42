import { join } from 'node:path'
import { CookieJar } from '../../../fixtures/browser/cookie-jar.ts'
import { makeClientCertificate } from '../../../fixtures/certificate.ts'
import { freePort } from '../../support/host-process.ts'
import { makeServerFiles } from '../../support/server-files.ts'
import { type StartedProgram, startProgram } from '../../support/started-program.ts'
import { answersAt } from '../support/answers-at.ts'
import { because } from '../support/cases.ts'
import { unpackPackages } from '../support/debian-packages.ts'
import { fullName, PEOPLE, type Person } from '../support/people.ts'
import type { ProviderPackage, RealIdp } from '../support/real-idp.ts'
import { type Api, apiAt } from './glewlwyd/api.ts'
import { FURTHER_PROPERTIES, toClient } from './glewlwyd/client.ts'
import { makeSigningKeys, pluginParameters } from './glewlwyd/oidc-plugin.ts'
import { pagesAt } from './glewlwyd/pages.ts'
import { findProgram, openDatabase, type Program, writeConfiguration } from './glewlwyd/server.ts'

const INSTALL_LIMIT_MS = 240_000
const START_LIMIT_MS = 60_000
/** As its schema has it. */
const ADMINISTRATOR = { username: 'admin', password: 'password' }
const SCOPES = ['openid', 'profile', 'email', 'groups']

export const glewlwyd: ProviderPackage = {
  name: 'Glewlwyd',
  startLimitMs: INSTALL_LIMIT_MS + START_LIMIT_MS,
  async install(scratch) {
    // Configured by hand: nothing has to ask which database it is.
    const unpacked = await unpackPackages(join(scratch, 'debian'), ['glewlwyd', 'dbconfig-no-thanks'])
    if (unpacked.kind === 'missing') return unpacked
    return { kind: 'installed', idp: await createGlewlwyd(await findProgram(unpacked.root)) }
  },
}

async function createGlewlwyd(program: Program): Promise<RealIdp> {
  const { folder, write, ...files } = await makeServerFiles('glewlwyd')
  const [origin, secureOrigin] = [`http://localhost:${await freePort()}`, `https://localhost:${await freePort()}`]
  const [issuer, secureIssuer] = [`${origin}/api/oidc`, `${secureOrigin}/api/secure`]
  const clientCertificate = await makeClientCertificate()
  const database = openDatabase(folder)
  const tls = { key: files.keyFile, cert: files.certFile, ca: await write('client-ca.pem', clientCertificate.cert) }

  let running: readonly StartedProgram[] = []
  const keys = makeSigningKeys()
  let plugin = { groupsUnasked: false, pushedOnly: false, rotates: false }
  const admin = apiAt(origin, new CookieJar())

  const serve = async (at: string, ca?: string) => {
    const file = await writeConfiguration(folder, program, at, at === secureOrigin ? tls : undefined)
    const ready = answersAt(`${at}/config`, ca)
    return startProgram(program.path, ['-c', file], { env: program.environment, ready, limitMs: START_LIMIT_MS })
  }
  /** Until the plugin is there, it says nothing of an issuer. */
  const furnish = async () => {
    await database.run(program.schema)
    const first = await serve(origin)
    await admin.call('POST', '/auth/', ADMINISTRATOR)
    await makeRoom(admin, 'user', { groups: true })
    await makeRoom(admin, 'client', FURTHER_PROPERTIES)
    for (const name of SCOPES.slice(1)) {
      await admin.call('POST', '/scope/', { name, password_required: true, password_max_age: 0, scheme: {} })
    }
    for (const [name, at] of Object.entries({ oidc: issuer, secure: secureIssuer })) {
      const parameters = pluginParameters({ ...plugin, keys, issuer: at })
      await admin.call('POST', '/mod/plugin/', { module: 'oidc', name, display_name: name, enabled: true, parameters })
    }
    await first.stop()
  }
  const configure = async (changed: Partial<typeof plugin>) => {
    const next = { ...plugin, ...changed }
    if (Object.entries(next).every(([name, value]) => plugin[name as keyof typeof plugin] === value)) return
    plugin = next
    const parameters = pluginParameters({ ...plugin, keys, issuer })
    await admin.call('PUT', '/mod/plugin/oidc', { display_name: 'oidc', parameters })
    await admin.call('PUT', '/mod/plugin/oidc/reset/')
  }
  const setPerson = async (person: Person, enabled = true) => {
    const { username } = person
    const known = (await admin.call('GET', '/user/')) as readonly { username: string }[]
    const user = toUser(person, enabled)
    if (known.some((one) => one.username === username)) await admin.call('PUT', `/user/${username}`, user)
    else await admin.call('POST', '/user/', { ...user, username })
  }
  return {
    version: program.version,
    issuer,
    secure: { issuer: secureIssuer, ca: files.ca, clientCertificate },
    cannot: CANNOT,
    ownPage: new Set(['wrong_client_id', 'wrong_redirect_uri']),
    keysByValue: true,
    groupName: (name) => name,
    refusesWithoutWords: true,
    refusedToPublic: ['introspection-failed', 'logout-incomplete'],
    async start() {
      await furnish()
      running = await Promise.all([serve(origin), serve(secureOrigin, files.ca)])
    },
    async close() {
      await Promise.all(running.map((group) => group.stop()))
      await database.close()
      await files.remove()
    },
    async reset() {
      await database.run(FORGET)
      await admin.call('POST', '/auth/', ADMINISTRATOR)
      await configure({ groupsUnasked: false, pushedOnly: false, rotates: false })
      for (const { client_id } of (await admin.call('GET', '/client/')) as readonly { client_id: string }[]) {
        await admin.call('DELETE', `/client/${client_id}`)
      }
      for (const person of PEOPLE) await setPerson(person)
    },

    async register(client) {
      await configure({
        groupsUnasked: client.groups === 'unasked',
        pushedOnly: client.require_pushed_authorization_requests === true,
        rotates: client.renewal?.rotates === true,
      })
      const { client_id, client_secret, token_endpoint_auth_method: method = '' } = client
      await admin.call('DELETE', `/client/${client_id}`).catch(() => undefined)
      await admin.call('POST', '/client/', toClient(client))
      return {
        client_id,
        ...(client_secret === undefined ? {} : { client_secret }),
        // Of an assertion for its issuer it says 403 and nothing else.
        ...(method.endsWith('_jwt') ? { client: { assertion_audience: 'address' } } : {}),
      }
    },
    setPerson: (person) => setPerson(person),
    disable: (person) => setPerson(person, false),
    acts: {
      delete: ({ username }) => admin.call('DELETE', `/user/${username}`),
      async revokeConsent({ username, password }) {
        const own = apiAt(origin, new CookieJar())
        await own.call('POST', '/auth/', { username, password })
        await own.call('PUT', '/auth/grant/mesh', { scope: '' })
      },
      age: () => database.run('UPDATE gpo_refresh_token SET gpor_expires_at = 1'),
    },
    ...pagesAt(origin),

    async ownSessions({ username }) {
      const query = 'SELECT gus_id FROM g_user_session WHERE gus_username = ? AND gus_enabled = 1'
      return (await database.all(query, [username])).length
    },
    // Only the person can: an administrator has no call for it.
    async endSessions({ username, password }, which) {
      const query = 'SELECT gpoi_sid AS sid FROM gpo_id_token WHERE gpoi_username = ? ORDER BY gpoi_id DESC'
      const sids = new Set((await database.all<{ sid: string }>(query, [username])).map(({ sid }) => sid))
      const own = apiAt(origin, new CookieJar())
      await own.call('POST', '/auth/', { username, password })
      for (const sid of which === 'newest' ? [...sids].slice(0, 1) : sids) {
        await own.call('DELETE', `/oidc/session/${sid}`)
      }
    },
  }
}

/** Tells one of its databases the names of further properties. */
async function makeRoom(admin: Api, kind: 'user' | 'client', properties: Readonly<Record<string, boolean>>) {
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

/** All that came of people's logins. */
const FORGET = [
  'DELETE FROM g_client_user_scope',
  'DELETE FROM gpo_code',
  'DELETE FROM gpo_refresh_token',
  'DELETE FROM gpo_access_token',
  'DELETE FROM gpo_id_token',
  'DELETE FROM g_user_session',
].join(';')

/** Each tried. */
const CANNOT: RealIdp['cannot'] = {
  signed_eddsa: 'its at_hash beside EdDSA is made with another hash than SHA-512',
  signed_hs256: 'it signs with keys of the plugin, never with the client secret',
  max_age: 'auth_time is 0 in its ID tokens, so that each login counts as too old',
  ...because(
    'it compares Basic credentials as they come, so that no encoding is understood',
    ...(['secret_blanks', 'secret_signs', 'secret_letters'] as const),
  ),
  ...because('it tells the same claims in the ID token and at the UserInfo endpoint', 'userinfo_only', 'id_token_only'),
  ...because('its UserInfo is JSON unless the request asks otherwise', 'signed_userinfo', 'encrypted_userinfo'),
  cancelled: 'its login page has no way back',
}
