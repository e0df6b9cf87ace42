import type { Clock } from '../../clock.ts'
import { isJsonObject } from '../../config/json/json-object.ts'
import type { SessionTokens, SignIn } from '../../host/port.ts'
import { keyOfHandle, keysOfSignIn } from '../../host/revocations.ts'
import { createSeal } from '../../host/seal.ts'
import { NO_TOKENS, readSessionTokens } from '../../host/sign-in-record.ts'
import { askDatabase } from '../database.ts'
import type { Members, MeshDatabase } from '../server.ts'
import { KeyIndex } from './key-index.ts'
import { cleanUpWhileSteady } from './steady-cleanup.ts'

/**
 * The tokens of sessions, sealed in MeshCentral's database, each under a digest of its session's handle. The key is
 * made of the server's secret and of the handle: the secret lies in the same database, and a backup of that must not
 * open what an IdP takes for a person.
 */
export interface SessionSecrets {
  /**
   * What is kept counts until then. In the background: no login waits for it.
   *
   * @returns key, by {@link keyOfHandle}, of the session that runs out first, where there were too many and its secrets
   *   had to go
   */
  keep(signIn: SignIn, handle: string, until: number): string | undefined
  /** Others in the place of what is kept; nothing where nothing is. @throws Error when the database does not answer */
  replace(handle: string, kept: SessionTokens): Promise<void>
  /** Nothing where nothing is kept. @throws Error when the database does not answer */
  read(handle: string): Promise<SessionTokens>
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
  /**
   * Records. Default 20,000: one takes 2 to 4 KB in the database, more with hundreds of groups, and a kilobyte here.
   */
  readonly most?: number
}

interface Entry {
  /** Digest of the handle. */
  readonly key: string
  readonly until: number
  /** As the revocations know the session. */
  readonly keys: readonly string[]
}

/** Not that of the records of what has ended: those are read as a whole. */
const TYPE = 'meshcompaniontokens'
const PREFIX = `${TYPE}/`

export function sessionSecrets(options: SessionSecretsOptions): SessionSecrets {
  const { db, secret, clock, onFailure, most = 20_000 } = options
  /** By digest of the handle, oldest first. What it is for is only to remove: reading asks the database. */
  const entries = new Map<string, Entry>()
  const matching = new KeyIndex<Entry>()
  const stopCleaning = cleanUpWhileSteady(clock, cleanUp)
  load().catch(onFailure)

  const sealOf = (handle: string) => createSeal(`${secret} ${handle}`, 'session tokens', true)

  async function recordOf(key: string): Promise<Members | undefined> {
    const found = await askDatabase<unknown>(clock, 'read the tokens of a session', (done) =>
      db.Get(PREFIX + key, done),
    )
    const record: unknown = Array.isArray(found) ? found[0] : undefined
    return isJsonObject(record) ? record : undefined
  }

  async function load(): Promise<void> {
    const found = await askDatabase<readonly Members[] | null>(clock, 'list the tokens of sessions', (done) =>
      db.GetAllType(TYPE, done),
    )
    const begun = [...entries.values()]
    entries.clear()
    matching.clear()
    for (const one of [...(found ?? [])].sort((a, b) => Number(a.until) - Number(b.until))) index(one)
    // What was begun meanwhile is the newest.
    for (const entry of begun) put(entry)
  }

  function index({ _id, until, keys }: Members): void {
    if (typeof _id !== 'string' || !_id.startsWith(PREFIX) || typeof until !== 'number' || !Array.isArray(keys)) return
    put({ key: _id.slice(PREFIX.length), until, keys: keys.filter((key) => typeof key === 'string') })
  }

  function put(entry: Entry): void {
    const before = entries.get(entry.key)
    if (before) matching.remove(before)
    entries.set(entry.key, entry)
    matching.add(entry)
  }

  function drop(key: string): void {
    const entry = entries.get(key)
    if (entry) matching.remove(entry)
    entries.delete(key)
    db.Remove(PREFIX + key)
  }

  function cleanUp(): void {
    for (const [key, { until }] of entries) if (until <= clock.now()) drop(key)
  }

  /** @throws Error when the database does not answer */
  async function write(handle: string, kept: SessionTokens, { until, keys }: Omit<Entry, 'key'>): Promise<void> {
    const key = keyOfHandle(handle)
    const sealed = sealOf(handle).seal(JSON.stringify(kept), key)
    put({ key, until, keys })
    await askDatabase(clock, 'keep the tokens of a session', (done) =>
      db.Set({ type: TYPE, _id: PREFIX + key, domain: '', until, keys, sealed }, done),
    )
  }

  return {
    keep(signIn, handle, until) {
      const { idToken, tokens } = signIn
      if (idToken === null && tokens === null) return undefined
      write(handle, { idToken, tokens }, { until, keys: keysOfSignIn(signIn) }).catch(onFailure)
      const [oldest] = entries.keys()
      if (entries.size <= most || oldest === undefined) return undefined
      drop(oldest)
      return oldest
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
      return text === null ? NO_TOKENS : readSessionTokens(JSON.parse(text))
    },
    remove: (handle) => drop(keyOfHandle(handle)),
    hasMatching: (keys) => keys.some((key) => matching.has(key)),
    removeMatching(keys) {
      for (const { key } of keys.flatMap((one) => matching.withKey(one))) drop(key)
    },
    close: stopCleaning,
  }
}
