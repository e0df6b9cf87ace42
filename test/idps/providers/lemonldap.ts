import { execFile } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Page, ScriptedBrowser } from '../../../fixtures/browser.ts'
import { freePort } from '../../support/host-process.ts'
import { makeServerFiles } from '../../support/server-files.ts'
import { type StartedProgram, startProgram } from '../../support/started-program.ts'
import { answersAt } from '../support/answers-at.ts'
import { foldersBelow, unpackPackages } from '../support/debian-packages.ts'
import { asksForPassword } from '../support/pages.ts'
import { PEOPLE } from '../support/people.ts'
import type { ProviderPackage, RealIdp } from '../support/real-idp.ts'
import { toRelyingParty } from './lemonldap/client.ts'
import { configurationOf, type Folders, makeSigningKey, type SigningKey } from './lemonldap/configuration.ts'
import { CANNOT } from './lemonldap/limits.ts'
import { confirmation, renewal, walkIn } from './lemonldap/pages.ts'
import { createPeopleTable } from './lemonldap/people-table.ts'
import { ageSessions, clearSessions, sessionsOf } from './lemonldap/sessions.ts'

const HOOK_FOLDER = fileURLToPath(new URL('lemonldap/', import.meta.url))
const INSTALL_LIMIT_MS = 240_000
const START_LIMIT_MS = 60_000
const WORKERS = 3
/** The portal, and what it loads without saying so as a package. */
const PACKAGES = [
  ...['liblemonldap-ng-portal-perl', 'libcrypt-jwt-perl', 'libdbd-sqlite3-perl', 'libemail-address-xs-perl'],
  ...['libemail-sender-perl', 'libio-socket-ssl-perl', 'libio-string-perl', 'libmime-tools-perl'],
  ...['libstring-random-perl', 'starman'],
]

/** What is only here, for tests of its own. */
export interface Lemonldap extends RealIdp {
  /** Clients that are registered from now on need people's consent; until the next `reset`. */
  askForConsent(): void
  /** Says no on the page that asks for consent or for a confirmation. */
  refuse(browser: ScriptedBrowser, page: Page): Promise<Page>
  /** Starts it anew with so many processes, each of which serves one request at a time; until the next `reset`. */
  restartWith(workers: number): Promise<void>
}

export const lemonldap: ProviderPackage<Lemonldap> = {
  name: 'LemonLDAP::NG',
  startLimitMs: INSTALL_LIMIT_MS + START_LIMIT_MS,
  async install(scratch) {
    // The release's own, 2.16, sends no logout tokens.
    const unpacked = await unpackPackages(join(scratch, 'debian'), PACKAGES, { backports: true })
    if (unpacked.kind === 'missing') return unpacked
    const portal = await findPortal(unpacked.root)
    const [major = 0, minor = 0] = portal.version.split('.').map(Number)
    if (major < 2 || (major === 2 && minor < 21)) {
      return {
        kind: 'missing',
        reason: `Debian gives version ${portal.version}, which sends no logout tokens: 2.21 does`,
      }
    }
    return { kind: 'installed', idp: await createLemonldap(portal) }
  },
}

interface Portal {
  readonly version: string
  /** The PSGI program. */
  readonly program: string
  readonly templates: string
  readonly environment: Readonly<Record<string, string>>
}

async function findPortal(root: string): Promise<Portal> {
  const share = join(root, 'usr/share')
  const paths = (...names: readonly string[]) => names.join(delimiter)
  const environment = {
    PERL5LIB: paths(HOOK_FOLDER, join(share, 'perl5'), ...(await foldersBelow(root, 'usr/lib/*/perl5/*'))),
    LD_LIBRARY_PATH: paths(...(await foldersBelow(root, 'usr/lib/*'))),
    PATH: paths(join(root, 'usr/bin'), process.env.PATH ?? ''),
  }
  const script = 'use Lemonldap::NG::Common; print $Lemonldap::NG::Common::VERSION'
  const { stdout } = await promisify(execFile)('perl', ['-e', script], { env: { ...process.env, ...environment } })
  return {
    version: stdout,
    program: join(share, 'lemonldap-ng/portal/htdocs/index.psgi'),
    templates: join(share, 'lemonldap-ng/portal/templates'),
    environment,
  }
}

async function createLemonldap(portal: Portal): Promise<Lemonldap> {
  const [port, securePort] = [await freePort(), await freePort()]
  const { folder, ca, certFile, keyFile, write, remove } = await makeServerFiles('lemonldap')
  const clients = join(folder, 'clients')
  const place: Folders = {
    sessions: join(folder, 'sessions'),
    persistent: join(folder, 'persistent'),
    people: join(folder, 'people.sqlite'),
  }
  const people = await createPeopleTable(place.people)
  const issuer = `http://localhost:${port}/`
  const secureIssuer = `https://localhost:${securePort}/`
  const tls = ['--enable-ssl', '--ssl-cert', certFile, '--ssl-key', keyFile]

  const firstKeys = new Map<string, SigningKey>()
  const firstKey = (algorithm: string) => {
    const key = firstKeys.get(algorithm) ?? makeSigningKey(algorithm)
    firstKeys.set(algorithm, key)
    return key
  }
  let algorithm = 'RS256'
  let consents = false
  let key = firstKey(algorithm)
  let workers = WORKERS
  let running: readonly StartedProgram[] = []

  const stop = async () => {
    await Promise.all(running.map((group) => group.stop()))
    running = []
  }
  /**
   * @param at where it is served, and so its issuer: a portal has one, and by TLS it is another that keeps its things
   *   in the same place
   */
  const serve = async (name: string, at: string, options: readonly string[], ca?: string) => {
    const configuration = join(folder, name)
    await mkdir(configuration, { recursive: true })
    await writeFile(join(configuration, 'lmConf-1.json'), JSON.stringify(configurationOf(place, at, key)))
    const env = {
      ...portal.environment,
      LLNG_DEFAULTCONFFILE: await write(`${name}.ini`, localSettings(configuration, portal.templates)),
      LLNG_CLIENTS: clients,
    }
    const words = ['-S', 'starman', '--host', '127.0.0.1', '--port', new URL(at).port, ...options, portal.program]
    const ready = answersAt(`${at}.well-known/openid-configuration`, ca)
    return startProgram('perl', words, { env, ready, limitMs: START_LIMIT_MS })
  }
  const start = async () => {
    if (running.length > 0) return
    running = await Promise.all([
      serve('plain', issuer, ['--workers', String(workers)]),
      serve('secure', secureIssuer, ['--workers', '1', ...tls], ca),
    ])
  }
  /** What it reads at its start alone. */
  const become = async (nextKey: SigningKey, nextWorkers: number) => {
    if (key === nextKey && workers === nextWorkers) return
    key = nextKey
    workers = nextWorkers
    if (running.length === 0) return
    await stop()
    await start()
  }

  return {
    version: portal.version,
    issuer,
    secure: { issuer: secureIssuer, ca },
    cannot: CANNOT,
    ownPage: new Set(['wrong_client_id', 'wrong_redirect_uri', 'wrong_post_logout']),
    groupName: (name) => name,
    refusedToPublic: ['introspection-failed'],
    start,
    stop,
    async close() {
      await stop()
      await people.close()
      await remove()
    },
    async reset() {
      consents = false
      algorithm = 'RS256'
      await become(firstKey(algorithm), WORKERS)
      await clearSessions(place.sessions)
      await clearSessions(place.persistent)
      await people.replace(PEOPLE)
      await rm(clients, { recursive: true, force: true })
      await mkdir(clients)
    },
    askForConsent() {
      consents = true
    },
    async refuse(browser, page) {
      const form = confirmation(page)
      if (!form) throw new Error(`no page that asks for a confirmation: ${page.url}`)
      const [, key = ''] = form.fields.find(([name]) => name === 'confirm') ?? []
      return browser.submit(form, { confirm: `-${key}` })
    },
    restartWith: (count) => become(key, count),

    async register(client) {
      const party = toRelyingParty(client, consents || client.renewal?.asksConsent === true)
      const { client_id, id_token_signed_response_alg: wanted = 'RS256' } = client
      // The whole portal has one kind of key at a time.
      if (/^ES/.test(wanted) || /^ES/.test(algorithm)) {
        algorithm = wanted
        await become(firstKey(algorithm), workers)
      }
      const file = join(clients, `${Buffer.from(client_id).toString('hex')}.json`)
      await writeFile(file, JSON.stringify(party))
      return {}
    },
    setPerson: people.set,
    disable: people.remove,
    acts: {
      delete: people.remove,
      revokeConsent: () => clearSessions(place.persistent),
      age: () => ageSessions(place.sessions),
    },
    rotateKeys: () => become(makeSigningKey(algorithm), workers),

    signIn: walkIn,
    asksWho: (page) => asksForPassword(page) || renewal(page) !== undefined,
    async confirmLogout(browser, page) {
      const form = confirmation(page)
      return form ? browser.submit(form) : page
    },

    ownSessions: async (person) => (await sessionsOf(place.sessions, person)).length,
    // It has no tokens to send for an administrator who deletes a session: each is ended as the person in it would.
    async endSessions(person, which) {
      const all = [...(await sessionsOf(place.sessions, person))].sort((one, other) => other.changedMs - one.changedMs)
      for (const { id } of which === 'newest' ? all.slice(0, 1) : all) {
        const answer = await fetch(`${issuer}?logout=1`, { headers: { cookie: `lemonldap=${id}` } })
        await answer.body?.cancel()
      }
    },
  }
}

/** What it reads before its configuration. */
function localSettings(configuration: string, templates: string): string {
  return [
    '[all]',
    'logger = Lemonldap::NG::Common::Logger::Std',
    'logLevel = warn',
    '[configuration]',
    'type = File',
    `dirName = ${configuration}`,
    '[portal]',
    `templateDir = ${templates}`,
    'staticPrefix = /static',
    'languages = en',
    '',
  ].join('\n')
}
