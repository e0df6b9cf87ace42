import type {
  Members,
  MeshDatabase,
  MeshDomain,
  MeshServer,
  MeshUser,
  MeshWeb,
} from '../../../plugin/meshcentral/server.ts'

/** The part of MeshCentral that the adapter uses, without a network. The tests in test/meshcentral use the real one. */
export interface StandIn {
  readonly server: MeshServer
  readonly web: MeshWeb
  readonly events: readonly { readonly targets: readonly string[]; readonly event: object | string }[]
  readonly log: readonly string[]
}

export interface StandInOptions {
  readonly domains?: Readonly<Record<string, Partial<MeshDomain>>>
  readonly settings?: Members
  readonly records?: Map<string, Members>
}

/** Stores copies of rows by id, as a database does. */
export function databaseOf(records: Map<string, Members> = new Map()): MeshDatabase {
  return {
    changeStream: false,
    Get: (id, done) =>
      setImmediate(() =>
        done(
          null,
          [...records.values()].filter(({ _id }) => _id === id),
        ),
      ),
    Set: (record, done) => {
      const copy = structuredClone(record) as Members
      records.set(String(copy._id), copy)
      setImmediate(() => done?.())
    },
    Remove: (id, done) => {
      records.delete(id)
      setImmediate(() => done?.())
    },
    GetAllType: (type, done) =>
      setImmediate(() =>
        done(
          null,
          [...records.values()].filter((record) => record.type === type),
        ),
      ),
  }
}

const RIGHTS: Readonly<Record<string, number>> = { serverbackup: 1, manageusers: 2, recordings: 512 }
const maskOf = (rights: unknown) =>
  Array.isArray(rights) ? rights.reduce((mask: number, right: string) => mask | (RIGHTS[right] ?? 0), 0) : undefined

export function standIn({ domains = { '': {} }, settings = {}, records = new Map() }: StandInOptions = {}): StandIn {
  const events: { targets: readonly string[]; event: object | string }[] = []
  const log: string[] = []
  const whole = Object.entries(domains).map(([id, domain]): [string, MeshDomain] => [
    id,
    { id, url: id === '' ? '/' : `/${id}/`, ...domain },
  ])
  const server: MeshServer = {
    config: { settings, domains: Object.fromEntries(whole) },
    db: databaseOf(records),
    datapath: '/',
    common: { meshServerRightsArrayToNumber: maskOf },
    authLog: (source, text) => void log.push(`${source}: ${text}`),
    addServerWarning: (text) => void log.push(`warning: ${text}`),
    DispatchEvent: (targets, _source, event) => void events.push({ targets, event: structuredClone(event) }),
    generateCookieKey: () => Buffer.alloc(80, 'k'),
    encodeCookie: () => null,
    decodeCookie: () => null,
  }
  const web = {
    users: {} as Record<string, MeshUser>,
    userGroups: {},
    destroyedSessions: {},
    args: {},
    blockedUsers: 0,
    CloneSafeUser: (user: MeshUser) => ({ ...user }),
    getUserAgentInfo: () => ({}),
    checkAllowLogin: () => true,
  } as unknown as MeshWeb
  return { server, web, events, log }
}
