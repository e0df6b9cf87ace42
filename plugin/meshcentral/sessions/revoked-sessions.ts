import type { Clock, Timer } from '../../clock.ts'
import type { RevocationStore } from '../../host/revocation-store.ts'
import { askDatabase, WRITE_LIMIT_MS } from '../database.ts'
import type { Members, MeshDatabase } from '../server.ts'
import type { RevocationTimes } from './open-sessions.ts'
import { cleanUpWhileSteady } from './steady-cleanup.ts'

/**
 * What has ended, in the memory of this process and in MeshCentral's database: it has sessions in cookies, which are
 * good until somebody says otherwise, and its own list of ended ones is lost with a restart and after two hours.
 */
export interface RevokedSessions extends RevocationStore {
  /** The same as `endedAt`, at once. Everything has ended as long as the database has not answered yet. */
  latest(keys: readonly string[]): number | undefined
  /** Has the listener told, in place of the one before, of what another server of the same database has ended. */
  onElsewhere(listener: (endings: RevocationTimes) => void): void
  close(): void
}

interface RevocationRow {
  readonly endedAt: number
  readonly until: number
}

const TYPE = 'meshcompanion'
const PREFIX = `${TYPE}/ended/`
/** Beyond that the oldest are forgotten, and all that began before them with them: none comes back to life. */
const MOST = 50_000
/** How soon the database is tried again after it failed. */
const RETRY_MS = 5_000
/** How long this server may not know of what has ended at another one of the same database. */
const READ_AGAIN_MS = 30_000

/**
 * @param onUnread where other servers work with the same database: called once an outage in which what they have ended
 *   cannot be read
 */
export function revokedInDatabase(
  db: MeshDatabase,
  clock: Clock,
  onUnread?: (error: unknown) => void,
): RevokedSessions {
  const records = new Map<string, RevocationRow>()
  let loaded = false
  let loading = load()
  const stopCleaning = cleanUpWhileSteady(clock, cleanUp)
  let retry: Timer | undefined
  let again: Timer | undefined
  /** Whoever ended it was told; nobody may come to end it again. */
  const unwritten = new Set<string>()
  let writing: Timer | undefined
  let isClosed = false
  let isReadable = true
  let onElsewhere: (endings: RevocationTimes) => void = () => undefined

  function load(): Promise<void> {
    const attempt = read().then(() => {
      loaded = true
      if (onUnread) readLater(onUnread)
    })
    // Told to whoever asks meanwhile; nobody is signed in until it has worked.
    attempt.catch(() => {
      retry = clock.after(RETRY_MS, () => {
        loading = load()
      })
    })
    return attempt
  }

  async function read(): Promise<void> {
    const found = await askDatabase<readonly Members[] | null>(clock, 'read which sessions have ended', (done) =>
      db.GetAllType(TYPE, done),
    )
    const begun = loaded ? [] : [...records]
    learn((found ?? []).flatMap(recordIn).sort(([, one], [, other]) => one.endedAt - other.endedAt))
    // What ended meanwhile is the newest.
    for (const [key, record] of begun) keep(key, record)
  }

  /** Counted from the end of a reading: a slow database is not asked any faster. */
  function readLater(tell: (error: unknown) => void): void {
    if (isClosed) return
    again = clock.after(READ_AGAIN_MS, async () => {
      try {
        await read()
        await makeRoom()
        isReadable = true
      } catch (error) {
        if (isReadable) tell(error)
        isReadable = false
      }
      readLater(tell)
    })
  }

  /** What is news ended elsewhere, or before the start. */
  function learn(found: readonly (readonly [key: string, record: RevocationRow])[]): void {
    const endings = new Map<string, number>()
    for (const [key, record] of found) {
      const known = records.get(key)
      if (known && known.endedAt >= record.endedAt && known.until >= record.until) continue
      endings.set(key, keep(key, record).endedAt)
    }
    if (endings.size > 0) onElsewhere(endings)
  }

  /** In the order of age. */
  function keep(key: string, { endedAt, until }: RevocationRow): RevocationRow {
    const known = records.get(key)
    records.delete(key)
    const record = { endedAt: Math.max(endedAt, known?.endedAt ?? 0), until: Math.max(until, known?.until ?? 0) }
    records.set(key, record)
    return record
  }

  function cleanUp(most = 0): void {
    if (!loaded) return
    for (const [key, { until }] of records) {
      if (records.size <= most) return
      if (until <= clock.now()) remove(key)
    }
  }

  function remove(key: string): void {
    records.delete(key)
    db.Remove(PREFIX + key)
  }

  async function makeRoom(): Promise<void> {
    // No more of it than has to go: the clock may be wrong.
    cleanUp(MOST)
    if (records.size <= MOST) return
    let all: RevocationRow | undefined
    for (const [key, { endedAt, until }] of records) {
      if (records.size < MOST) break
      remove(key)
      all = { endedAt: Math.max(endedAt, all?.endedAt ?? 0), until: Math.max(until, all?.until ?? 0) }
    }
    if (all) await write(EVERYTHING, keep(EVERYTHING, all))
  }

  async function write(key: string, record: RevocationRow): Promise<void> {
    try {
      await askDatabase(
        clock,
        'write that a session has ended',
        (done) => db.Set({ type: TYPE, _id: PREFIX + key, domain: '', ...record }, done),
        WRITE_LIMIT_MS,
      )
      // A later one may have failed meanwhile.
      if (records.get(key) === record) unwritten.delete(key)
    } catch (error) {
      unwritten.add(key)
      writeLater()
      throw error
    }
  }

  function writeLater(): void {
    if (isClosed) return
    writing ??= clock.after(RETRY_MS, async () => {
      try {
        for (const key of unwritten) {
          const record = records.get(key)
          if (record) await write(key, record)
          else unwritten.delete(key)
        }
      } catch {
        // The first that fails tells that it still does.
      }
      writing = undefined
      if (unwritten.size > 0) writeLater()
    })
  }

  function latestOf(keys: readonly string[]): number | undefined {
    let latest = records.get(EVERYTHING)?.endedAt
    for (const key of keys) {
      const endedAt = records.get(key)?.endedAt
      if (endedAt !== undefined && endedAt > (latest ?? Number.NEGATIVE_INFINITY)) latest = endedAt
    }
    return latest
  }

  return {
    isShared: onUnread !== undefined,
    async revoke(keys, endedAt, until) {
      // In memory first: what comes in while the database works is refused by now.
      const kept = keys.map((key) => [key, keep(key, { endedAt, until })] as const)
      const written = kept.map(([key, record]) => write(key, record))
      await Promise.all([loading, ...written])
      await makeRoom()
    },
    async endedAt(keys) {
      if (!loaded) await loading
      return latestOf(keys)
    },
    latest: (keys) => (loaded ? latestOf(keys) : Number.POSITIVE_INFINITY),
    onElsewhere(listener) {
      onElsewhere = listener
    },
    close() {
      isClosed = true
      stopCleaning()
      retry?.cancel()
      again?.cancel()
      writing?.cancel()
    },
  }
}

const EVERYTHING = 'everything'

/** One, or none: a record that is not as this plugin writes it. */
function recordIn({ _id, endedAt, until }: Members): readonly (readonly [key: string, record: RevocationRow])[] {
  if (typeof _id !== 'string' || !_id.startsWith(PREFIX)) return []
  return typeof endedAt === 'number' && typeof until === 'number'
    ? [[_id.slice(PREFIX.length), { endedAt, until }]]
    : []
}
