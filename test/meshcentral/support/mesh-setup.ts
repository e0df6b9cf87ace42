import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { type Idp, type IdpOptions, startIdp } from '../../../fixtures/idp/server.ts'
import { anyCertificateFetch } from '../../support/any-certificate-fetch.ts'
import { until } from '../../support/until.ts'
import { type DataFolder, type DbRecord, makeDataFolder } from './data-folder.ts'
import type { Database } from './databases.ts'
import { laboratory, serverSettings, TITLE } from './laboratory.ts'
import { type MeshProcess, type OtherNode, startMeshProcess } from './mesh-process.ts'

export const CLIENT = { client_id: 'mesh', client_secret: 'a-client-secret-of-the-tests-of-meshcentral' }

export type Members = Readonly<Record<string, unknown>>

/** Addresses that a configuration may refer to. */
export interface Places {
  readonly issuer: string
  /** The address of the domain, with a slash at the end. */
  readonly url: string
}

export interface DomainOptions {
  /** Members of the `oidc` object, merged with the defaults, `client` member by member. Null: no `oidc` object. */
  readonly oidc?: Members | ((places: Places) => Members) | null
  /** The whole `oidc` object, without the defaults. */
  readonly exactly?: (places: Places) => unknown
  /** The domain's other members. */
  readonly members?: Members
}

export interface ServerOptions {
  /** Signs users in: the packed plugin (default), or MeshCentral's built-in strategy. */
  readonly strategy?: 'ours' | 'built-in'
  readonly settings?: Members | ((issuer: string) => Members)
  /** Domains by id. Default: only the default domain. */
  readonly domains?: Readonly<Record<string, DomainOptions>>
  /** Members of `domaindefaults`. */
  readonly domainDefaults?: (issuer: string) => Members
  /** The `peers` section of the configuration. */
  readonly peers?: Members
  /** The folder of another MeshCentral than the laboratory's. */
  readonly installation?: string | undefined
  /** The text of a plugin program that replaces the packed one. */
  readonly program?: string
  /** Options of Node.js for the server. `env` is its environment. */
  readonly nodeOptions?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Default: the Node.js of this process. */
  readonly node?: OtherNode | undefined
}

export interface MeshOptions extends ServerOptions {
  /** A database instead of MeshCentral's own NeDB. */
  readonly database?: Database | undefined
  readonly idp?: IdpOptions
  /** An IdP of the caller, which is not closed with the setup. */
  readonly sharedIdp?: Idp
  /** The port of a second server beside the first. Default: the laboratory's. */
  readonly port?: number
}

/** A user of the IdP. */
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
  /** The address of the default domain, with a slash at the end. */
  readonly url: string
  readonly data: DataFolder
  /** Returns the address of a domain, with a slash at the end. */
  urlOf(domainId: string): string
  server(): MeshProcess
  /** Opens a browser. @param address its apparent address, for a server that trusts this machine as its proxy */
  browser(address?: string): ScriptedBrowser
  /** Registers the client again, with further metadata. */
  register(metadata: Members): Promise<void>
  /** Ends sessions by a back-channel logout token of the IdP with these claims. @returns the status of the answer */
  endSessions(claims: Members, domainId?: string): Promise<number>
  /** Adds a new user to the IdP, or changes the claims of `existing`. */
  person(claims?: Members, existing?: Person): Person
  /** Returns MeshCentral's record of an account once it matches. */
  account(person: Person, domainId?: string, matches?: (record: DbRecord) => boolean): Promise<DbRecord>
  /** Whether the database has the account now. */
  hasAccount(person: Person, domainId?: string): Promise<boolean>
  /** Stops the server as a service manager does. {@link MeshSetup.restart} starts it again. */
  terminate(signal: 'SIGTERM' | 'SIGINT'): Promise<string | number | null>
  /** Kills the server and restarts it with the same data, and with these options if given. */
  restart(options?: ServerOptions, whileDown?: () => Promise<void>): Promise<void>
  close(): Promise<void>
}

/** Starts a real MeshCentral and a provider, and registers the client for all domains. */
export async function setUpMesh(options: MeshOptions = {}): Promise<MeshSetup> {
  const { installation, template, port: sharedPort } = await laboratory()
  const { port = sharedPort } = options
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

  async function start(serverOptions: ServerOptions): Promise<MeshProcess> {
    const authLog = join(data.path, 'auth.log')
    const { strategy = 'ours', domains = { '': {} }, settings = {}, domainDefaults, peers, program } = serverOptions
    const place = serverOptions.installation ?? installation
    await data.writeConfig({
      settings: {
        ...serverSettings(port),
        authLog: serverOptions.node?.pathOf(authLog) ?? authLog,
        ...database?.settings,
        ...(strategy === 'ours' ? { plugins: { enabled: true, list: ['meshcompanion'] } } : {}),
        ...(typeof settings === 'function' ? settings(idp.issuer) : settings),
      },
      domains: Object.fromEntries(
        Object.entries({ '': { oidc: null }, ...domains }).map(([id, domain]) => [
          id,
          domainObject(domain, { issuer: idp.issuer, url: urlOf(id, serverOptions) }),
        ]),
      ),
      ...(domainDefaults ? { domaindefaults: domainDefaults(idp.issuer) } : {}),
      ...(peers ? { peers } : {}),
    })
    if (strategy === 'ours') await data.addPlugin(program)
    await registerClient(
      idp,
      Object.keys(domains).map((id) => urlOf(id, serverOptions)),
    )
    const { nodeOptions = [], env = {}, node } = serverOptions
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
    person: (claims = {}, existing) => {
      if (!existing) persons += 1
      const username = existing?.username ?? `person${persons}`
      const person: Person = {
        username,
        password: `${username}-demo`,
        sub: existing?.sub ?? `sub-${persons}`,
        name: typeof claims.name === 'string' ? claims.name : (existing?.name ?? `Person ${persons}`),
        claims: { email: `${username}@example.test`, email_verified: true, ...existing?.claims, ...claims },
      }
      idp.setUser({ ...person, claims: { name: person.name, preferred_username: username, ...person.claims } })
      return person
    },
    account: (person, domainId = '', matches = () => true) =>
      until(`the account of ${person.name} in the database`, async () => {
        const record = (await data.records()).get(userKey(person, domainId))
        return record && matches(record) ? record : undefined
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

function domainObject({ oidc, exactly, members = {} }: DomainOptions, places: Places): Members {
  const strategy = exactly ? exactly(places) : oidc === null ? undefined : oidcObject(oidc, places)
  return { title: TITLE, ...members, ...(strategy === undefined ? {} : { authStrategies: { oidc: strategy } }) }
}

function oidcObject(oidc: DomainOptions['oidc'] = {}, places: Places): Members {
  const { client, ...rest } = (typeof oidc === 'function' ? oidc(places) : oidc) ?? {}
  return {
    issuer: places.issuer,
    newAccounts: true,
    ...rest,
    client: {
      ...CLIENT,
      redirect_uri: `${places.url}auth-oidc-callback`,
      post_logout_redirect_uri: `${places.url}login`,
      ...(client as Members | undefined),
    },
  }
}

/** Registers, for every domain, each callback that a preset or a default may name. */
async function registerClient(idp: Idp, urls: readonly string[], more: Members = {}): Promise<void> {
  const callbacks = ['auth-oidc-callback', 'auth-oidc-azure-callback', 'auth-oidc-google-callback']
  await idp.addClient({
    ...CLIENT,
    redirect_uris: urls.flatMap((url) => callbacks.map((path) => url + path)),
    post_logout_redirect_uris: urls.map((url) => `${url}login`),
    ...more,
  })
}
