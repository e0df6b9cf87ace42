import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Page, ScriptedBrowser } from '../../../fixtures/browser.ts'
import { makeCertificates } from '../../../fixtures/certificate.ts'
import { freePort } from '../../support/host-process.ts'
import { foldersBelow, unpackPackages } from '../support/debian-packages.ts'
import { PEOPLE, type Person } from '../support/people.ts'
import { type ProcessGroup, startGroup } from '../support/process-group.ts'
import type { ProviderPackage, RealIdp } from '../support/real-idp.ts'
import { toRelyingParty } from './lemonldap/client.ts'
import { configurationOf, type Folders, makeSigningKey, type SigningKey } from './lemonldap/configuration.ts'
import { createPeopleTable, type PeopleTable } from './lemonldap/people-table.ts'
import { clearSessions, sessionsOf } from './lemonldap/sessions.ts'

const HOOK_FOLDER = fileURLToPath(new URL('lemonldap/', import.meta.url))
const INSTALL_LIMIT_MS = 240_000
const START_LIMIT_MS = 20_000
const WORKERS = 3
/** The portal, and what it loads without saying so as a package. */
const PACKAGES = [
  'liblemonldap-ng-portal-perl',
  'libcrypt-jwt-perl',
  'libdbd-sqlite3-perl',
  'libemail-address-xs-perl',
  'libemail-sender-perl',
  'libio-socket-ssl-perl',
  'libio-string-perl',
  'libmime-tools-perl',
  'libstring-random-perl',
  'starman',
]

/** What is only here, for tests of its own. */
export interface Lemonldap extends RealIdp {
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

/** Its files of one run. */
interface Place extends Folders {
  readonly root: string
  readonly clients: string
  readonly configuration: string
}

async function makePlace(): Promise<Place> {
  const root = await mkdtemp(join(tmpdir(), 'lemonldap-'))
  const inside = (name: string) => join(root, name)
  const place: Place = {
    root,
    sessions: inside('sessions'),
    persistent: inside('persistent'),
    people: inside('people.sqlite'),
    clients: inside('clients'),
    configuration: inside('configuration'),
  }
  await mkdir(place.configuration)
  return place
}

async function createLemonldap(portal: Portal): Promise<Lemonldap> {
  const [port, securePort] = [await freePort(), await freePort()]
  const place = await makePlace()
  const { ca, server } = await makeCertificates()
  const people: PeopleTable = await createPeopleTable(place.people)
  const issuer = `http://localhost:${port}/`
  const secureIssuer = `https://localhost:${securePort}/`
  const [certificateFile, keyFile, settingsFile] = ['cert.pem', 'key.pem', 'lemonldap-ng.ini'].map((name) =>
    join(place.root, name),
  ) as [string, string, string]
  await writeFile(certificateFile, server.cert)
  await writeFile(keyFile, server.key, { mode: 0o600 })
  await writeFile(settingsFile, localSettings(place, portal.templates))

  const firstKeys = new Map<string, SigningKey>()
  const firstKey = (algorithm: string) => {
    const key = firstKeys.get(algorithm) ?? makeSigningKey(algorithm)
    firstKeys.set(algorithm, key)
    return key
  }
  let algorithm = 'RS256'
  let key = firstKey(algorithm)
  let workers = WORKERS
  let running: ProcessGroup | undefined

  const stop = async () => {
    await running?.stop()
    running = undefined
  }
  const start = async () => {
    if (running) return
    // Which of its addresses it is asked at tells which issuer it is.
    const address = `($env->{HTTP_HOST} eq 'localhost:${securePort}') ? '${secureIssuer}' : '${issuer}'`
    const configuration = configurationOf(place, address, key)
    await writeFile(join(place.configuration, 'lmConf-1.json'), JSON.stringify(configuration))
    const options = [
      ...['--workers', String(workers), '--listen', `127.0.0.1:${port}`, '--listen', `127.0.0.1:${securePort}:ssl`],
      ...['--ssl-cert', certificateFile, '--ssl-key', keyFile, portal.program],
    ]
    const environment = {
      ...portal.environment,
      LLNG_DEFAULTCONFFILE: settingsFile,
      LLNG_CLIENTS: place.clients,
    }
    running = await startGroup('perl', ['-S', 'starman', ...options], environment, { issuer, limitMs: START_LIMIT_MS })
  }
  /** What it reads at its start alone. */
  const become = async (nextKey: SigningKey, nextWorkers: number) => {
    if (key === nextKey && workers === nextWorkers) return
    key = nextKey
    workers = nextWorkers
    if (!running) return
    await stop()
    await start()
  }

  return {
    version: portal.version,
    issuer,
    secure: { issuer: secureIssuer, ca: ca.cert },
    cannot: CANNOT,
    ownPage: new Set(['wrong_client_id', 'wrong_redirect_uri', 'wrong_post_logout']),
    groupName: (name) => name,
    start,
    stop,
    async close() {
      await stop()
      await people.close()
      await rm(place.root, { recursive: true, force: true })
    },
    async reset() {
      algorithm = 'RS256'
      await become(firstKey(algorithm), WORKERS)
      await clearSessions(place.sessions)
      await clearSessions(place.persistent)
      await people.replace(PEOPLE)
      await rm(place.clients, { recursive: true, force: true })
      await mkdir(place.clients)
    },
    restartWith: (count) => become(key, count),

    async register(client) {
      const party = toRelyingParty(client)
      const { client_id, client_secret, id_token_signed_response_alg: wanted = 'RS256' } = client
      // The whole portal has one kind of key at a time.
      if (/^ES/.test(wanted) || /^ES/.test(algorithm)) {
        algorithm = wanted
        await become(firstKey(algorithm), workers)
      }
      const file = join(place.clients, `${Buffer.from(client_id).toString('hex')}.json`)
      await writeFile(file, JSON.stringify(party))
      return { client_id, ...(client_secret === undefined ? {} : { client_secret }) }
    },
    setPerson: people.set,
    disable: people.remove,
    rotateKeys: () => become(makeSigningKey(algorithm), workers),

    signIn: walkIn,
    asksWho: (page) => passwordForm(page) !== undefined,
    async confirmLogout(browser, page) {
      const form = page.forms.find(({ fields }) => fields.some(([name]) => name === 'confirm'))
      return form ? browser.submit(form, { confirm: '1' }) : page
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
function localSettings({ configuration }: Place, templates: string): string {
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

const passwordForm = (page: Page) => page.forms.find(({ fields }) => fields.some(([name]) => name === 'password'))

async function walkIn(browser: ScriptedBrowser, page: Page, { username, password }: Person): Promise<Page> {
  const form = passwordForm(page)
  const next = form ? await browser.submit(form, { user: username, password }) : page
  const consent = next.forms.find(({ fields }) => fields.some(([name]) => name === 'confirm'))
  return consent ? browser.submit(consent, { confirm: '1' }) : next
}

const NO_PUSH = 'it has no endpoint for pushed requests'
const NO_JARM = 'it has no response mode that ends in jwt'
const NO_CERTIFICATES = 'it knows no certificates of clients'

const CANNOT: RealIdp['cannot'] = {
  tls_client_auth: NO_CERTIFICATES,
  self_signed_tls_client_auth: NO_CERTIFICATES,
  id_token_only: 'its UserInfo endpoint has all that the ID token has',
  jarm_query: NO_JARM,
  jarm_form_post: NO_JARM,
  pushed: NO_PUSH,
  pushed_request_object: NO_PUSH,
  dpop: 'it knows no DPoP',
  introspection_disabled: 'sessions of somebody who is taken out of its database go on',
  revocation: 'it has no revocation endpoint',
  cancelled: 'its login page has no way back; its consent page has one, which is tried beside the matrix',
}
