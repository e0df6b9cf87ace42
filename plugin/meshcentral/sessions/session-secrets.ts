import type { Clock } from '../../clock.ts'
import { isJsonObject } from '../../config/json/json-object.ts'
import type { SessionTokens, SignIn } from '../../host/port.ts'
import { keyOfHandle, keysOfSignIn } from '../../host/revocations.ts'
import { createSeal, type Seal } from '../../host/seal.ts'
import { NO_TOKENS, readSessionTokens } from '../../host/sign-in-record.ts'
import { askDatabase } from '../database.ts'
import type { Members, MeshDatabase } from '../server.ts'
import { KeyIndex } from './key-index.ts'
import { cleanUpWhileSteady } from './steady-cleanup.ts'

export interface SessionSecretsOptions {
  readonly db: MeshDatabase
  readonly secret: string
  readonly clock: Clock
  /** Called if tokens could not be written, or if the database could not list its records. */
  readonly onFailure: (error: unknown) => void
  /**
   * Limit of stored records. Default 20,000. Each takes 1 KB of memory and 2 to 4 KB in the database, more with
   * hundreds of groups.
   */
  readonly most?: number
}

/** A record of the database, without its sealed content. */
interface Entry {
  /** Digest of the session's handle. */
  readonly key: string
  readonly until: number
  /** The session's revocation keys. When one of them is revoked, the record is removed. */
  readonly keys: readonly string[]
}

/**
 * The type of the records with tokens. Revocations have another type, so that reading all revocations does not also
 * read all tokens.
 */
const TYPE = 'meshcompaniontokens'
const PREFIX = `${TYPE}/`

/**
 * Stores the sealed tokens of sessions in MeshCentral's database. The encryption key is derived from the server's
 * secret and the session's handle, a secret in its cookie. The server's secret alone would not protect a stolen backup,
 * which contains it.
 *
 * Memory holds an index, the oldest first. Tokens are always read from the database, because another server may have
 * written them.
 */
export class SessionSecrets {
  readonly #db: MeshDatabase
  readonly #secret: string
  readonly #clock: Clock
  readonly #onFailure: (error: unknown) => void
  readonly #most: number
  /** An entry for each stored record, by the digest of the session's handle. */
  readonly #entries = new Map<string, Entry>()
  readonly #matching = new KeyIndex<Entry>()
  readonly #stopCleaning: () => void

  constructor({ db, secret, clock, onFailure, most = 20_000 }: SessionSecretsOptions) {
    this.#db = db
    this.#secret = secret
    this.#clock = clock
    this.#onFailure = onFailure
    this.#most = most
    this.#stopCleaning = cleanUpWhileSteady(clock, () => this.#dropExpired())
    this.#load().catch(onFailure)
  }

  /**
   * Stores a session's tokens until `until`, in the background.
   *
   * @returns the key (`keyOfHandle`) of a session that lost its tokens because of the limit, if any
   */
  keep(signIn: SignIn, handle: string, until: number): string | undefined {
    const { idToken, tokens } = signIn
    if (idToken === null && tokens === null) return undefined
    this.#write(handle, { idToken, tokens }, until, keysOfSignIn(signIn)).catch(this.#onFailure)
    const [oldest] = this.#entries.keys()
    if (this.#entries.size <= this.#most || oldest === undefined) return undefined
    this.#drop(oldest)
    return oldest
  }

  /**
   * Replaces a session's tokens. Does nothing if no tokens of the session are stored.
   *
   * @throws Error if the database fails
   */
  async replace(handle: string, tokens: SessionTokens): Promise<void> {
    const key = keyOfHandle(handle)
    // Look in the database too, because another server may have stored the tokens.
    if (!this.#entries.has(key)) this.#index((await this.#recordOf(key)) ?? {})
    const entry = this.#entries.get(key)
    // If the session has ended, there is no entry for it. Its tokens must not be stored again.
    if (entry) await this.#write(handle, tokens, entry.until, entry.keys)
  }

  /**
   * Reads a session's tokens. Returns {@link NO_TOKENS} if none are stored.
   *
   * @throws Error if the database fails
   */
  async read(handle: string): Promise<SessionTokens> {
    const key = keyOfHandle(handle)
    const sealed = (await this.#recordOf(key))?.sealed
    const text = typeof sealed === 'string' ? this.#sealOf(handle).open(sealed, key) : null
    return text === null ? NO_TOKENS : readSessionTokens(JSON.parse(text))
  }

  remove(handle: string): void {
    this.#drop(keyOfHandle(handle))
  }

  /** Whether tokens are stored for a session that has one of these revocation keys. */
  hasMatching(keys: readonly string[]): boolean {
    return keys.some((key) => this.#matching.has(key))
  }

  /** Removes the tokens of all sessions that have one of these revocation keys. */
  removeMatching(keys: readonly string[]): void {
    for (const entry of keys.flatMap((key) => this.#matching.withKey(key))) this.#drop(entry.key)
  }

  close(): void {
    this.#stopCleaning()
  }

  #sealOf(handle: string): Seal {
    return createSeal(`${this.#secret} ${handle}`, 'session tokens', true)
  }

  async #recordOf(key: string): Promise<Members | undefined> {
    const records = await askDatabase<unknown>(this.#clock, 'read the tokens of a session', (done) =>
      this.#db.Get(PREFIX + key, done),
    )
    const record: unknown = Array.isArray(records) ? records[0] : undefined
    return isJsonObject(record) ? record : undefined
  }

  async #load(): Promise<void> {
    const records = await askDatabase<readonly Members[] | null>(this.#clock, 'list the tokens of sessions', (done) =>
      this.#db.GetAllType(TYPE, done),
    )
    const addedMeanwhile = [...this.#entries.values()]
    this.#entries.clear()
    this.#matching.clear()
    for (const record of [...(records ?? [])].sort((a, b) => Number(a.until) - Number(b.until))) this.#index(record)
    // Entries that were added while the database was read are the newest, so move them to the end of the map.
    for (const entry of addedMeanwhile) this.#put(entry)
  }

  #index({ _id, until, keys }: Members): void {
    if (typeof _id !== 'string' || !_id.startsWith(PREFIX) || typeof until !== 'number' || !Array.isArray(keys)) return
    this.#put({ key: _id.slice(PREFIX.length), until, keys: keys.filter((key) => typeof key === 'string') })
  }

  #put(entry: Entry): void {
    const previous = this.#entries.get(entry.key)
    if (previous) this.#matching.remove(previous)
    this.#entries.set(entry.key, entry)
    this.#matching.add(entry)
  }

  #drop(key: string): void {
    const entry = this.#entries.get(key)
    if (entry) this.#matching.remove(entry)
    this.#entries.delete(key)
    this.#db.Remove(PREFIX + key)
  }

  #dropExpired(): void {
    for (const [key, { until }] of this.#entries) if (until <= this.#clock.now()) this.#drop(key)
  }

  async #write(handle: string, tokens: SessionTokens, until: number, keys: readonly string[]): Promise<void> {
    const key = keyOfHandle(handle)
    const sealed = this.#sealOf(handle).seal(JSON.stringify(tokens), key)
    this.#put({ key, until, keys })
    await askDatabase(this.#clock, 'write the tokens of a session', (done) =>
      this.#db.Set({ type: TYPE, _id: PREFIX + key, domain: '', until, keys, sealed }, done),
    )
  }
}
