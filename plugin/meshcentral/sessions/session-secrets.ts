import type { Clock, Timer } from '../../clock.ts'
import { isJsonObject } from '../../config/json/json-object.ts'
import type { KeptTokens, SignIn } from '../../host/port.ts'
import { keyOfHandle, keysOfSignIn } from '../../host/revocations.ts'
import { createSeal } from '../../host/seal.ts'
import { NO_TOKENS, readKeptTokens } from '../../host/sign-in-record.ts'
import { askDatabase } from '../database.ts'
import type { Members, MeshDatabase } from '../server.ts'
import { cleanWhileSteady } from './cleaning.ts'

/**
 * The tokens of sessions, sealed in MeshCentral's database, each under a digest of its session's handle. The key is made of the server's
 * secret and of the handle: the secret lies in the same database, and a backup of that must not open what an IdP takes for a person.
 */
export interface SessionSecrets {
  /**
   * What is kept counts until then. In the background: no login waits for it.
   *
   * @returns keys, by {@link keyOfHandle}, of the oldest sessions, of the person and of all, whose secrets had to go since there are too many
   */
  keep(signIn: SignIn, handle: string, until: number): readonly string[]
  /** Others in the place of what is kept; nothing where nothing is. @throws Error when the database does not answer */
  replace(handle: string, kept: KeptTokens): Promise<void>
  /** Nothing where nothing is kept. @throws Error when the database does not answer */
  read(handle: string): Promise<KeptTokens>
  remove(handle: string): void
  /** Whether there are any of sessions that have one of the keys, by `keysOfSignIn`. */
  hasMatching(keys: readonly string[]): boolean
  /** Those of the same sessions. */
  removeMatching(keys: readonly string[]): void
  close(): void
}

export interface SessionSecretsOptions {
  readonly db: MeshDatabase
  readonly secret: string
  readonly clock: Clock
  /** Called when secrets could not be kept, or what is in the database not be listed. */
  readonly onFailure: (error: unknown) => void
  /** Records in all. Default 20,000: one takes 4 to 8 KB in the database, and 700 bytes here. */
  readonly most?: number
  /** Records of one person, so that nobody can push out those of others. Default 100. */
  readonly mostOfOne?: number
}

interface Entry {
  readonly until: number
  /** As the revocations know the session. */
  readonly keys: readonly string[]
}

/** Not that of the records of what has ended: those are read as a whole. */
const TYPE = 'meshcompaniontokens'
const PREFIX = `${TYPE}/`
/** Of one record. Tokens with hundreds of groups have 10,000; an IdP may answer with a million. */
const MOST_CHARACTERS = 40_000
/** Sessions whose end has to be written. There are more when servers of one database had room for as many each. */
const MOST_AT_ONCE = 100
const RETRY_MS = 60_000

export function sessionSecrets(options: SessionSecretsOptions): SessionSecrets {
  const { db, secret, clock, onFailure, most = 20_000, mostOfOne = 100 } = options
  /** By digest of the handle, oldest first. What it is for is only to remove: reading asks the database. */
  const entries = new Map<string, Entry>()
  const stopCleaning = cleanWhileSteady(clock, cleanUp)
  let retry: Timer | undefined
  void load()

  const sealOf = (handle: string) => createSeal(`${secret} ${handle}`, 'session tokens')

  async function recordOf(key: string): Promise<Members | undefined> {
    const found = await askDatabase<unknown>(clock, 'read the tokens of a session', (done) =>
      db.Get(PREFIX + key, done),
    )
    const record: unknown = Array.isArray(found) ? found[0] : undefined
    return isJsonObject(record) ? record : undefined
  }

  async function load(): Promise<void> {
    try {
      const found = await askDatabase<readonly Members[] | null>(clock, 'list the tokens of sessions', (done) =>
        db.GetAllType(TYPE, done),
      )
      const begun = [...entries]
      entries.clear()
      for (const one of [...(found ?? [])].sort((a, b) => Number(a.until) - Number(b.until))) index(one)
      // What was begun meanwhile is the newest.
      for (const [key, entry] of begun) entries.set(key, entry)
    } catch (error) {
      onFailure(error)
      retry = clock.after(RETRY_MS, load)
    }
  }

  function index({ _id, until, keys }: Members): void {
    if (typeof _id !== 'string' || !_id.startsWith(PREFIX) || typeof until !== 'number' || !Array.isArray(keys)) return
    entries.set(_id.slice(PREFIX.length), { until, keys: keys.filter((key) => typeof key === 'string') })
  }

  function drop(key: string): void {
    entries.delete(key)
    db.Remove(PREFIX + key)
  }

  function cleanUp(): void {
    for (const [key, { until }] of entries) if (until <= clock.now()) drop(key)
  }

  /** Those whose secrets went though they still count. */
  function makeRoom(): readonly string[] {
    const gone: string[] = []
    for (const [oldest, { until }] of entries) {
      if (entries.size <= most || gone.length === MOST_AT_ONCE) break
      drop(oldest)
      if (until > clock.now()) gone.push(oldest)
    }
    return gone
  }

  /** @throws Error when it is too large, or the database does not answer */
  async function write(handle: string, kept: KeptTokens, entry: Entry): Promise<void> {
    const key = keyOfHandle(handle)
    const sealed = sealOf(handle).seal(JSON.stringify(kept), key)
    if (sealed.length > MOST_CHARACTERS) throw new Error('The tokens of a session are too large to be kept.')
    entries.set(key, entry)
    await askDatabase(clock, 'keep the tokens of a session', (done) =>
      db.Set({ type: TYPE, _id: PREFIX + key, domain: '', ...entry, sealed }, done),
    )
  }

  /** The first of its keys is that of the subject. */
  function dropOldestOf(subject: string | undefined): readonly string[] {
    const own: string[] = []
    for (const [key, { keys }] of entries) if (keys[0] === subject) own.push(key)
    const tooMany = own.slice(0, Math.max(0, own.length - mostOfOne))
    for (const key of tooMany) drop(key)
    return tooMany
  }

  return {
    keep(signIn, handle, until) {
      const { idToken, tokens } = signIn
      if (idToken === null && tokens === null) return []
      const entry: Entry = { until, keys: keysOfSignIn(signIn) }
      write(handle, { idToken, tokens }, entry).catch(onFailure)
      return [...makeRoom(), ...dropOldestOf(entry.keys[0])]
    },
    async replace(handle, kept) {
      const key = keyOfHandle(handle)
      // Another server of the same database may have begun it.
      if (!entries.has(key)) index((await recordOf(key)) ?? {})
      const entry = entries.get(key)
      // A session that has ended meanwhile leaves nothing behind.
      if (entry) await write(handle, kept, entry)
    },
    async read(handle) {
      const key = keyOfHandle(handle)
      const sealed = (await recordOf(key))?.sealed
      const text = typeof sealed === 'string' ? sealOf(handle).open(sealed, key) : null
      return text === null ? NO_TOKENS : readKeptTokens(JSON.parse(text))
    },
    remove: (handle) => drop(keyOfHandle(handle)),
    hasMatching: (keys) => [...entries.values()].some((entry) => entry.keys.some((own) => keys.includes(own))),
    removeMatching(keys) {
      for (const [key, entry] of entries) if (entry.keys.some((own) => keys.includes(own))) drop(key)
    },
    close() {
      stopCleaning()
      retry?.cancel()
    },
  }
}
