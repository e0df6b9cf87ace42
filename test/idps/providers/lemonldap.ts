import { execFile } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Page, ScriptedBrowser } from '../../../fixtures/browser.ts'
import { freePort } from '../../support/host-process.ts'
import { makeServerFiles } from '../../support/server-files.ts'
import { type StartedProgram, startProgram } from '../../support/started-program.ts'
import { foldersBelow, unpackPackages } from '../support/debian-packages.ts'
import { answersAt } from '../support/endpoint-check.ts'
import { asksForPassword } from '../support/pages.ts'
import { PEOPLE } from '../support/people.ts'
import type { ProviderPackage, RealIdp } from '../support/real-idp.ts'
import { toRelyingParty } from './lemonldap/client.ts'
import { configurationOf, type Folders, makeSigningKey, type SigningKey } from './lemonldap/configuration.ts'
import { CANNOT } from './lemonldap/limits.ts'
import { confirmation, renewal, signInThroughPages } from './lemonldap/pages.ts'
import { createPeopleTable } from './lemonldap/people-table.ts'
import { ageSessions, clearSessions, sessionsOf } from './lemonldap/sessions.ts'

const HOOK_FOLDER = fileURLToPath(new URL('lemonldap/', import.meta.url))
const INSTALL_LIMIT_MS = 240_000
const START_LIMIT_MS = 60_000
const WORKERS = 3
/** The portal, and modules that it loads although its package does not depend on them. */
const PACKAGES = [
  ...['liblemonldap-ng-portal-perl', 'libcrypt-jwt-perl', 'libdbd-sqlite3-perl', 'libemail-address-xs-perl'],
  ...['libemail-sender-perl', 'libio-socket-ssl-perl', 'libio-string-perl', 'libmime-tools-perl'],
  ...['libstring-random-perl', 'starman'],
]

/** LemonLDAP::NG, with what only its own tests need. */
export interface Lemonldap extends RealIdp {
  /** Requires consent for clients registered from now on, until the next `reset`. */
  askForConsent(): void
  /** Declines on the page that asks for consent or confirmation. */
  refuse(browser: ScriptedBrowser, page: Page): Promise<Page>
  /** Restarts the portal with this number of processes, until the next `reset`. Each serves one request at a time. */
  restartWith(workers: number): Promise<void>
}

export const lemonldap: ProviderPackage<Lemonldap> = {
  name: 'LemonLDAP::NG',
  startLimitMs: INSTALL_LIMIT_MS + START_LIMIT_MS,
  async install(scratch) {
    // Version 2.16 of the Debian release sends no logout tokens.
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
   * Serves the portal at an address. A portal has one issuer, so the TLS address needs another portal with the same
   * storage.
   * @param at the address, which is also the issuer
   */
  const serve = async (name: string, issuerUrl: string, options: readonly string[], ca?: string) => {
    const configuration = join(folder, name)
    await mkdir(configuration, { recursive: true })
    await writeFile(join(configuration, 'lmConf-1.json'), JSON.stringify(configurationOf(place, issuerUrl, key)))
    const env = {
      ...portal.environment,
      LLNG_DEFAULTCONFFILE: await write(`${name}.ini`, localSettings(configuration, portal.templates)),
      LLNG_CLIENTS: clients,
    }
    const words = [
      '-S',
      'starman',
      '--host',
      '127.0.0.1',
      '--port',
      new URL(issuerUrl).port,
      ...options,
      portal.program,
    ]
    const ready = answersAt(`${issuerUrl}.well-known/openid-configuration`, ca)
    return startProgram('perl', words, { env, ready, limitMs: START_LIMIT_MS })
  }
  const start = async () => {
    if (running.length > 0) return
    running = await Promise.all([
      serve('plain', issuer, ['--workers', String(workers)]),
      serve('secure', secureIssuer, ['--workers', '1', ...tls], ca),
    ])
  }
  /** Changes what the portal reads only at its start, and restarts it. */
  const restartWithSettings = async (nextKey: SigningKey, nextWorkers: number) => {
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
      await restartWithSettings(firstKey(algorithm), WORKERS)
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
    restartWith: (count) => restartWithSettings(key, count),

    async register(client) {
      const party = toRelyingParty(client, consents || client.renewal?.asksConsent === true)
      const { client_id, id_token_signed_response_alg: wanted = 'RS256' } = client
      // All clients of a portal share one kind of key.
      if (/^ES/.test(wanted) || /^ES/.test(algorithm)) {
        algorithm = wanted
        await restartWithSettings(firstKey(algorithm), workers)
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
    rotateKeys: () => restartWithSettings(makeSigningKey(algorithm), workers),

    signIn: signInThroughPages,
    asksWho: (page) => asksForPassword(page) || renewal(page) !== undefined,
    async confirmLogout(browser, page) {
      const form = confirmation(page)
      return form ? browser.submit(form) : page
    },

    ownSessions: async (person) => (await sessionsOf(place.sessions, person)).length,
    // Ends each session as its own user would: LemonLDAP sends no logout tokens when an administrator deletes a
    // session.
    async endSessions(person, selection) {
      const all = [...(await sessionsOf(place.sessions, person))].sort((a, b) => b.changedMs - a.changedMs)
      for (const { id } of selection === 'newest' ? all.slice(0, 1) : all) {
        const answer = await fetch(`${issuer}?logout=1`, { headers: { cookie: `lemonldap=${id}` } })
        await answer.body?.cancel()
      }
    },
  }
}

/** Returns the file of local settings, which the portal reads before its configuration. */
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
