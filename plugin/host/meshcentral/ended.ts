import type { RevocationStore } from '../revocation-store.ts'
import { askDatabase } from './database.ts'
import type { Members, MeshDatabase } from './server.ts'

/**
 * What has ended, in the memory of this process and in MeshCentral's database: it has sessions in cookies, which are good until
 * somebody says otherwise, and its own list of ended ones is lost with a restart and after two hours.
 */
export interface Ended extends RevocationStore {
  /** The same as `endedAt`, at once. Everything has ended as long as the database has not answered yet. */
  latest(keys: readonly string[]): number | undefined
  close(): void
}

interface EndedRecord {
  readonly endedAt: number
  readonly until: number
}

const TYPE = 'meshcompanion'
const PREFIX = `${TYPE}/ended/`
/** Beyond that the oldest are forgotten, and all that began before them with them: none comes back to life. */
const MOST = 50_000
const CLEAN_UP_MS = 60 * 60_000
const RETRY_MS = 5_000

export function endedInDatabase(db: MeshDatabase, now: () => number): Ended {
  const records = new Map<string, EndedRecord>()
  let loaded = false
  let loading = load()
  const cleaning = setInterval(cleanUp, CLEAN_UP_MS).unref()
  let retry: NodeJS.Timeout | undefined

  function load(): Promise<void> {
    const attempt = askDatabase<readonly Members[] | null>('read which sessions have ended', (done) =>
      db.GetAllType(TYPE, done),
    ).then((found) => {
      for (const one of [...(found ?? [])].sort((a, b) => Number(a.endedAt) - Number(b.endedAt))) takeIn(one)
      loaded = true
      cleanUp()
    })
    // Told to whoever asks meanwhile; nobody is signed in until it has worked.
    attempt.catch(() => {
      retry = setTimeout(() => {
        loading = load()
      }, RETRY_MS).unref()
    })
    return attempt
  }

  function takeIn({ _id, endedAt, until }: Members): void {
    if (typeof _id !== 'string' || !_id.startsWith(PREFIX)) return
    if (typeof endedAt === 'number' && typeof until === 'number') keep(_id.slice(PREFIX.length), { endedAt, until })
  }

  /** In the order of age. */
  function keep(key: string, { endedAt, until }: EndedRecord): EndedRecord {
    const known = records.get(key)
    records.delete(key)
    const record = { endedAt: Math.max(endedAt, known?.endedAt ?? 0), until: Math.max(until, known?.until ?? 0) }
    records.set(key, record)
    return record
  }

  function cleanUp(): void {
    if (!loaded) return
    for (const [key, { until }] of records) {
      if (until > now()) continue
      records.delete(key)
      db.Remove(PREFIX + key)
    }
  }

  async function makeRoom(): Promise<void> {
    if (records.size <= MOST) return
    cleanUp()
    let all: EndedRecord | undefined
    for (const [key, { endedAt, until }] of records) {
      if (records.size < MOST) break
      records.delete(key)
      db.Remove(PREFIX + key)
      all = { endedAt: Math.max(endedAt, all?.endedAt ?? 0), until: Math.max(until, all?.until ?? 0) }
    }
    if (all) await write(EVERYTHING, keep(EVERYTHING, all))
  }

  async function write(key: string, { endedAt, until }: EndedRecord): Promise<void> {
    await askDatabase('write that a session has ended', (done) =>
      db.Set({ type: TYPE, _id: PREFIX + key, domain: '', endedAt, until }, done),
    )
  }

  function latestOf(keys: readonly string[]): number | undefined {
    const times = [EVERYTHING, ...keys].flatMap((key) => records.get(key)?.endedAt ?? [])
    return times.length === 0 ? undefined : Math.max(...times)
  }

  return {
    async revoke(keys, endedAt, until) {
      // In memory first: what comes in while the database works is refused by now.
      const written = keys.map((key) => write(key, keep(key, { endedAt, until })))
      await Promise.all([loading, ...written])
      await makeRoom()
    },
    async endedAt(keys) {
      if (!loaded) await loading
      return latestOf(keys)
    },
    latest: (keys) => (loaded ? latestOf(keys) : Number.POSITIVE_INFINITY),
    close() {
      clearInterval(cleaning)
      clearTimeout(retry)
    },
  }
}

const EVERYTHING = 'everything'
