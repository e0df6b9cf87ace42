import type { Clock, Timer } from '../../clock.ts'
import type { RevocationStore } from '../../host/revocation-store.ts'
import { askDatabase, WRITE_LIMIT_MS } from '../database.ts'
import type { Members, MeshDatabase } from '../server.ts'
import { cleanUpWhileSteady } from './steady-cleanup.ts'

/**
 * Maps revocation keys to the times of their revocation, in milliseconds since 1970. Sessions that began later are not
 * affected.
 */
export type RevocationTimes = ReadonlyMap<string, number>

/**
 * A revocation, as stored in memory and in the database: the time of the revocation, and the time until which it is
 * stored. Both are milliseconds since 1970.
 */
interface RevocationRow {
  readonly endedAt: number
  readonly until: number
}

const TYPE = 'meshcompanion'
const PREFIX = `${TYPE}/ended/`
/** The revocation key of all sessions: revoking it revokes every session. */
const EVERYTHING = 'everything'
/** Limit of stored revocations. Beyond it, the oldest are dropped, and all sessions from before are revoked. */
const MOST = 50_000
/** Delay before the database is tried again after a failure. */
const RETRY_MS = 5_000
/** Delay between two reads of the database. A revocation by another server may go unnoticed for this time. */
const READ_AGAIN_MS = 30_000

/**
 * Keeps revocations in memory and in MeshCentral's database. MeshCentral's sessions are cookies, which stay valid until
 * the server refuses them. Its own list of ended sessions is lost at a restart, and each entry after two hours.
 *
 * States:
 *
 * - *Loading*, from the start until the first read of the database succeeds. Every session counts as revoked. A failed
 *   read is retried after `RETRY_MS`; callers that wait meanwhile get its error.
 * - *Loaded*. Look-ups are answered from memory. If other servers share the database, it is read again every
 *   `READ_AGAIN_MS`, and the listener is notified of their revocations.
 * - *Closed*. All timers are stopped.
 *
 * A revocation takes effect at once, and `revoke` resolves once the database has it. If the write fails, `revoke`
 * rejects. The write is still retried every `RETRY_MS`, because the caller may not try again.
 *
 * Guarantee: no revoked session becomes valid again, even after rows were dropped.
 */
export class RevokedSessions implements RevocationStore {
  readonly isShared: boolean
  readonly #db: MeshDatabase
  readonly #clock: Clock
  readonly #onUnread: ((error: unknown) => void) | undefined
  /** The revocations by key, the oldest first. */
  readonly #rows = new Map<string, RevocationRow>()
  /** Keys of rows to write again, because their last write failed. */
  readonly #unwritten = new Set<string>()
  readonly #timers: { retry?: Timer; nextRead?: Timer; nextWrite?: Timer | undefined } = {}
  readonly #stopCleaning: () => void
  #onRevokedElsewhere: (times: RevocationTimes) => void = () => undefined
  #loading: Promise<void>
  #isLoaded = false
  #isReadable = true
  #isClosed = false

  /**
   * @param onUnread called once per outage if the revocations of other servers cannot be read. Undefined if no other
   *   server shares the database
   */
  constructor(db: MeshDatabase, clock: Clock, onUnread?: (error: unknown) => void) {
    this.#db = db
    this.#clock = clock
    this.#onUnread = onUnread
    this.isShared = onUnread !== undefined
    this.#loading = this.#load()
    this.#stopCleaning = cleanUpWhileSteady(clock, () => this.#dropExpired())
  }

  async revoke(keys: readonly string[], endedAt: number, until: number): Promise<void> {
    // Store the revocations in memory first, so that requests are refused before the database has stored them.
    const rows = keys.map((key) => [key, this.#keep(key, { endedAt, until })] as const)
    const writes = rows.map(([key, row]) => this.#write(key, row))
    await Promise.all([this.#loading, ...writes])
    await this.#makeRoom()
  }

  async endedAt(keys: readonly string[]): Promise<number | undefined> {
    if (!this.#isLoaded) await this.#loading
    return this.#latestOf(keys)
  }

  /**
   * Returns the latest revocation time of the keys. Until the database was read, infinity: all sessions count as
   * revoked.
   */
  latest(keys: readonly string[]): number | undefined {
    return this.#isLoaded ? this.#latestOf(keys) : Number.POSITIVE_INFINITY
  }

  /** Sets the listener for revocations that this process did not make itself. It replaces the previous listener. */
  onRevokedElsewhere(listener: (times: RevocationTimes) => void): void {
    this.#onRevokedElsewhere = listener
  }

  close(): void {
    this.#isClosed = true
    this.#stopCleaning()
    for (const timer of Object.values(this.#timers)) timer?.cancel()
  }

  #load(): Promise<void> {
    const attempt = this.#read().then(() => {
      this.#isLoaded = true
      if (this.#onUnread) this.#scheduleRead(this.#onUnread)
    })
    // Retry after a failed read. Callers that are waiting get the error. No user is signed in until a read succeeds.
    attempt.catch(() => {
      this.#timers.retry = this.#clock.after(RETRY_MS, () => {
        this.#loading = this.#load()
      })
    })
    return attempt
  }

  async #read(): Promise<void> {
    const records = await askDatabase<readonly Members[] | null>(this.#clock, 'read revoked sessions', (done) =>
      this.#db.GetAllType(TYPE, done),
    )
    const addedMeanwhile = this.#isLoaded ? [] : [...this.#rows]
    this.#merge((records ?? []).flatMap(rowIn).sort(([, a], [, b]) => a.endedAt - b.endedAt))
    // Revocations that were added during the first read are the newest, so move them to the end of the map.
    for (const [key, row] of addedMeanwhile) this.#keep(key, row)
  }

  /**
   * Schedules the next read. The delay starts at the end of the last read, so that a slow database is not read without
   * pause.
   */
  #scheduleRead(onUnread: (error: unknown) => void): void {
    if (this.#isClosed) return
    this.#timers.nextRead = this.#clock.after(READ_AGAIN_MS, async () => {
      try {
        await this.#read()
        await this.#makeRoom()
        this.#isReadable = true
      } catch (error) {
        if (this.#isReadable) onUnread(error)
        this.#isReadable = false
      }
      this.#scheduleRead(onUnread)
    })
  }

  /** Adds revocations from the database to those in memory, and reports the new ones to the listener. */
  #merge(rows: readonly (readonly [key: string, row: RevocationRow])[]): void {
    const times = new Map<string, number>()
    for (const [key, row] of rows) {
      const stored = this.#rows.get(key)
      if (stored && stored.endedAt >= row.endedAt && stored.until >= row.until) continue
      times.set(key, this.#keep(key, row).endedAt)
    }
    if (times.size > 0) this.#onRevokedElsewhere(times)
  }

  #keep(key: string, { endedAt, until }: RevocationRow): RevocationRow {
    const stored = this.#rows.get(key)
    // Delete the row first, so that the map stays in order of age when the row is set again.
    this.#rows.delete(key)
    const row = { endedAt: Math.max(endedAt, stored?.endedAt ?? 0), until: Math.max(until, stored?.until ?? 0) }
    this.#rows.set(key, row)
    return row
  }

  /**
   * Drops expired rows.
   *
   * @param most stops when only this number of rows remains, even if some of them expired
   */
  #dropExpired(most = 0): void {
    if (!this.#isLoaded) return
    for (const [key, { until }] of this.#rows) {
      if (this.#rows.size <= most) return
      if (until <= this.#clock.now()) this.#remove(key)
    }
  }

  #remove(key: string): void {
    this.#rows.delete(key)
    this.#db.Remove(PREFIX + key)
  }

  async #makeRoom(): Promise<void> {
    // Drop no more expired rows than necessary. If the clock is wrong, they may not have expired.
    this.#dropExpired(MOST)
    if (this.#rows.size <= MOST) return
    let dropped: RevocationRow | undefined
    for (const [key, { endedAt, until }] of this.#rows) {
      if (this.#rows.size < MOST) break
      this.#remove(key)
      dropped = { endedAt: Math.max(endedAt, dropped?.endedAt ?? 0), until: Math.max(until, dropped?.until ?? 0) }
    }
    if (dropped) await this.#write(EVERYTHING, this.#keep(EVERYTHING, dropped))
  }

  async #write(key: string, row: RevocationRow): Promise<void> {
    try {
      await askDatabase(
        this.#clock,
        'write a revoked session',
        (done) => this.#db.Set({ type: TYPE, _id: PREFIX + key, domain: '', ...row }, done),
        WRITE_LIMIT_MS,
      )
      // Keep the key in `#unwritten` if its row changed during this write, because the write of the newer row may have
      // failed.
      if (this.#rows.get(key) === row) this.#unwritten.delete(key)
    } catch (error) {
      this.#unwritten.add(key)
      this.#scheduleWrite()
      throw error
    }
  }

  #scheduleWrite(): void {
    if (this.#isClosed) return
    this.#timers.nextWrite ??= this.#clock.after(RETRY_MS, async () => {
      try {
        for (const key of this.#unwritten) {
          const row = this.#rows.get(key)
          if (row) await this.#write(key, row)
          else this.#unwritten.delete(key)
        }
      } catch {
        // The database failed again. The revocations that are still unwritten wait for the next attempt.
      }
      this.#timers.nextWrite = undefined
      if (this.#unwritten.size > 0) this.#scheduleWrite()
    })
  }

  #latestOf(keys: readonly string[]): number | undefined {
    let latest = this.#rows.get(EVERYTHING)?.endedAt
    for (const key of keys) {
      const endedAt = this.#rows.get(key)?.endedAt
      if (endedAt !== undefined && endedAt > (latest ?? Number.NEGATIVE_INFINITY)) latest = endedAt
    }
    return latest
  }
}

/**
 * Reads a revocation from a database record. Returns a list with the revocation, or an empty list if this plugin did
 * not write the record.
 */
function rowIn({ _id, endedAt, until }: Members): readonly (readonly [key: string, row: RevocationRow])[] {
  if (typeof _id !== 'string' || !_id.startsWith(PREFIX)) return []
  return typeof endedAt === 'number' && typeof until === 'number'
    ? [[_id.slice(PREFIX.length), { endedAt, until }]]
    : []
}
