import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { type Idp, type IdpOptions, startIdp } from '../../../fixtures/idp/server.ts'
import { anyCertificateFetch } from '../../support/any-certificate-fetch.ts'
import { type DataFolder, type DbRecord, makeDataFolder } from './data-folder.ts'
import type { Database } from './databases.ts'
import { laboratory, serverSettings, TITLE } from './laboratory.ts'
import { type MeshProcess, type OtherNode, startMeshProcess } from './mesh-process.ts'
import { until } from './until.ts'

export const CLIENT = { client_id: 'mesh', client_secret: 'a-client-secret-of-the-tests-of-meshcentral' }

export type Members = Readonly<Record<string, unknown>>

/** What a configuration may refer to. */
export interface Places {
  readonly issuer: string
  /** Of the domain, with a slash at the end. */
  readonly url: string
}

export interface DomainOptions {
  /** Merged into the `oidc` object, `client` member by member; null for a domain without one. */
  readonly oidc?: Members | ((at: Places) => Members) | null
  /** The `oidc` object as a whole: nothing is merged into it. */
  readonly exactly?: (at: Places) => unknown
  /** The domain's other members. */
  readonly members?: Members
}

export interface ServerOptions {
  /** Who signs people in: the packed plugin, or MeshCentral itself. Default: ours. */
  readonly strategy?: 'ours' | 'built-in'
  readonly settings?: Members | ((issuer: string) => Members)
  /** By id. Default: the default domain alone. */
  readonly domains?: Readonly<Record<string, DomainOptions>>
  /** What domains have that say nothing else of it. */
  readonly domainDefaults?: (issuer: string) => Members
  /** Where it has peers: what its configuration says of them. */
  readonly peers?: Members
  /** Where MeshCentral is installed, in place of the laboratory's. */
  readonly installation?: string | undefined
  /** Of the plugin, in place of the packed one. */
  readonly program?: string
  /** Options of Node, and environment, of the server. */
  readonly nodeOptions?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Default: the Node.js of this process. */
  readonly node?: OtherNode | undefined
}

export interface MeshOptions extends ServerOptions {
  /** In place of its own NeDB. Default: that. */
  readonly database?: Database | undefined
  readonly idp?: IdpOptions
  /** Instead of one of its own, which would be closed with the rest. */
  readonly sharedIdp?: Idp
  /** Of a second server beside the first. Default: that of the laboratory. */
  readonly port?: number
}

/** Somebody whom the IdP knows. */
export interface Person {
  readonly username: string
  readonly password: string
  readonly sub: string
  readonly name: string
  readonly claims: Members
}

export interface MeshSetup {
  readonly idp: Idp
  readonly port: number
  /** Of the default domain, with a slash at the end. */
  readonly url: string
  readonly data: DataFolder
  /** With a slash at the end. */
  urlOf(domainId: string): string
  server(): MeshProcess
  /** @param address where the browser seems to be, for a server that trusts this machine as its proxy */
  browser(address?: string): ScriptedBrowser
  /** Registers the client anew, with further metadata. */
  register(metadata: Members): Promise<void>
  /**
   * Has the IdP say which sessions have ended, by a back-channel logout token with these claims. @returns the answer's
   * status
   */
  endSessions(claims: Members, domainId?: string): Promise<number>
  /** Adds somebody to the IdP; a new one each time unless `again` names somebody whose claims change. */
  person(claims?: Members, again?: Person): Person
  /** MeshCentral's own record of an account, once it agrees with `is`. */
  account(person: Person, domainId?: string, is?: (record: DbRecord) => boolean): Promise<DbRecord>
  /** Whether the database has such an account now. */
  hasAccount(person: Person, domainId?: string): Promise<boolean>
  /** Ends the server as a service manager does. {@link MeshSetup.restart} starts it again. */
  terminate(signal: 'SIGTERM' | 'SIGINT'): Promise<string | number | null>
  /** Stops the server at once and starts it with the same data, and with other options where given. */
  restart(options?: ServerOptions, whileDown?: () => Promise<void>): Promise<void>
  close(): Promise<void>
}

/** A real MeshCentral beside a provider, the client registered for all of its domains. */
export async function setUpMesh(options: MeshOptions = {}): Promise<MeshSetup> {
  const { installation, template, port: usual } = await laboratory()
  const { port = usual } = options
  const idp = options.sharedIdp ?? (await startIdp({ fetch: anyCertificateFetch, ...options.idp }))
  const { database } = options
  const folder = await makeDataFolder(template)
  const data = database ? { ...folder, records: () => database.records(folder.path) } : folder
  const urlOf = (id: string, { domains = {} }: ServerOptions = options) => {
    const dns = domains[id]?.members?.dns
    return typeof dns === 'string' || id === ''
      ? `https://${dns ?? 'localhost'}:${port}/`
      : `https://localhost:${port}/${id}/`
  }
  const hosts = { localhost: '127.0.0.1', 'other.mesh.test': '127.0.0.1' }
  const browsers: ScriptedBrowser[] = []
  let persons = 0

  async function start(now: ServerOptions): Promise<MeshProcess> {
    const authLog = join(data.path, 'auth.log')
    const { strategy = 'ours', domains = { '': {} }, settings = {}, domainDefaults, peers, program } = now
    const place = now.installation ?? installation
    await data.writeConfig({
      settings: {
        ...serverSettings(port),
        authLog: now.node?.pathOf(authLog) ?? authLog,
        ...database?.settings,
        ...(strategy === 'ours' ? { plugins: { enabled: true, list: ['meshcompanion'] } } : {}),
        ...(typeof settings === 'function' ? settings(idp.issuer) : settings),
      },
      domains: Object.fromEntries(
        Object.entries({ '': { oidc: null }, ...domains }).map(([id, domain]) => [
          id,
          domainObject(domain, { issuer: idp.issuer, url: urlOf(id, now) }),
        ]),
      ),
      ...(domainDefaults ? { domaindefaults: domainDefaults(idp.issuer) } : {}),
      ...(peers ? { peers } : {}),
    })
    if (strategy === 'ours') await data.addPlugin(program)
    await registerClient(
      idp,
      Object.keys(domains).map((id) => urlOf(id, now)),
    )
    const { nodeOptions = [], env = {}, node } = now
    return startMeshProcess({ installation: place, dataPath: data.path, port, nodeOptions, env, node })
  }

  const open = (address?: string) => {
    const headers = address === undefined ? {} : { 'x-forwarded-for': address }
    const browser = new ScriptedBrowser({ anyCertificate: true, hosts, headers })
    browsers.push(browser)
    return browser
  }
  let current = options as ServerOptions
  let server: MeshProcess
  try {
    server = await start(current)
  } catch (error) {
    if (!options.sharedIdp) await idp.close()
    await data.remove()
    throw error
  }

  return {
    idp,
    port,
    url: urlOf(''),
    data,
    urlOf: (id) => urlOf(id, current),
    server: () => server,
    browser: open,
    register: (metadata) =>
      registerClient(
        idp,
        Object.keys(current.domains ?? { '': {} }).map((id) => urlOf(id, current)),
        metadata,
      ),
    async endSessions(claims, domainId = '') {
      const iat = Math.floor(Date.now() / 1000)
      const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
      const token = await idp.sign(
        { iss: idp.issuer, aud: 'mesh', iat, exp: iat + 120, jti: randomUUID(), events, ...claims },
        { alg: 'RS256', typ: 'logout+jwt' },
      )
      const form = [['logout_token', token]] as const
      return (await open().step(`${urlOf(domainId, current)}auth-oidc-backchannel-logout`, { form })).status
    },
    person: (claims = {}, again) => {
      if (!again) persons += 1
      const username = again?.username ?? `person${persons}`
      const person: Person = {
        username,
        password: `${username}-demo`,
        sub: again?.sub ?? `sub-${persons}`,
        name: typeof claims.name === 'string' ? claims.name : (again?.name ?? `Person ${persons}`),
        claims: { email: `${username}@example.test`, email_verified: true, ...again?.claims, ...claims },
      }
      idp.setUser({ ...person, claims: { name: person.name, preferred_username: username, ...person.claims } })
      return person
    },
    account: (person, domainId = '', is = () => true) =>
      until(`the account of ${person.name} in the database`, async () => {
        const record = (await data.records()).get(userKey(person, domainId))
        return record && is(record) ? record : undefined
      }),
    hasAccount: async (person, domainId = '') => (await data.records()).has(userKey(person, domainId)),
    restart: async (changed = {}, whileDown) => {
      await server.stop()
      await whileDown?.()
      current = { ...current, ...changed }
      server = await start(current)
    },
    terminate: (signal) => server.terminate(signal),
    close: async () => {
      for (const browser of browsers) browser.close()
      await server.stop()
      if (!options.sharedIdp) await idp.close()
      await data.remove()
    },
  }
}

export function userKey({ sub }: Pick<Person, 'sub'>, domainId = ''): string {
  return `user/${domainId}/~oidc:${sub}`
}

function domainObject({ oidc, exactly, members = {} }: DomainOptions, at: Places): Members {
  const strategy = exactly ? exactly(at) : oidc === null ? undefined : oidcObject(oidc, at)
  return { title: TITLE, ...members, ...(strategy === undefined ? {} : { authStrategies: { oidc: strategy } }) }
}

function oidcObject(oidc: DomainOptions['oidc'] = {}, at: Places): Members {
  const { client, ...own } = (typeof oidc === 'function' ? oidc(at) : oidc) ?? {}
  return {
    issuer: at.issuer,
    newAccounts: true,
    ...own,
    client: {
      ...CLIENT,
      redirect_uri: `${at.url}auth-oidc-callback`,
      post_logout_redirect_uri: `${at.url}login`,
      ...(client as Members | undefined),
    },
  }
}

/** Any of the callbacks that a preset or a default may name, for every domain. */
async function registerClient(idp: Idp, urls: readonly string[], more: Members = {}): Promise<void> {
  const callbacks = ['auth-oidc-callback', 'auth-oidc-azure-callback', 'auth-oidc-google-callback']
  await idp.addClient({
    ...CLIENT,
    redirect_uris: urls.flatMap((url) => callbacks.map((path) => url + path)),
    post_logout_redirect_uris: urls.map((url) => `${url}login`),
    ...more,
  })
}
