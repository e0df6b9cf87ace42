import type { Clock, Timer } from '../../../clock.ts'
import type { StationRecord } from '../../../messages/station-record.ts'
import type { StationKey } from '../../../messages/store.ts'
import { readSql } from '../../read-sql.ts'
import type { Postgres } from '../database/connection.ts'
import type { Change, StationCopy } from './station-copy.ts'

/** Interval in milliseconds at which the copy is refreshed without a notification, in case one was lost. */
const REFRESH_EVERY_MS = 1000
const PAGE = 5000

const LOAD_STATIONS = readSql(new URL('./load-stations.sql', import.meta.url), { PAGE })
const STATION_CHANGES = readSql(new URL('./station-changes.sql', import.meta.url))
const LAST = 'SELECT last AS version FROM clock'
const PROVEN = 'SELECT key, registered_at AS "registeredAt" FROM station WHERE proven'

interface ChangeRow extends StationRecord {
  readonly version: number
  readonly changesSince: number
  readonly changed: StationKey | null
}

interface CopyRefreshParts {
  readonly postgres: Pick<Postgres, 'read' | 'timeline'>
  readonly copy: StationCopy
  /** Stations that are known to be proven, with the stamp of their registration. Each load replaces all entries. */
  readonly proven: Map<StationKey, number>
  readonly clock: Clock
}

/**
 * Keeps the copy of the registry up to date with the changes of all instances.
 *
 * `load` reads all stations. Then `follow` reads only the stations that changed after the newest stamp in the copy. It
 * loads all again if that stamp cannot be used: another server took over (its timeline differs), the stamp of the
 * database went back, or the records of changes since then were deleted.
 *
 * A refresh runs after each notification and at least once a second, one at a time. If it fails, the next one reads the
 * same changes.
 */
export class CopyRefresh {
  readonly #postgres: Pick<Postgres, 'read' | 'timeline'>
  readonly #copy: StationCopy
  readonly #proven: Map<StationKey, number>
  readonly #clock: Clock
  /** The timeline of the PostgreSQL server from which `load` read all stations. */
  #loadedTimeline = 0
  #isRefreshing = false
  #isStale = false
  #timer: Timer | undefined
  #isClosed = false

  constructor({ postgres, copy, proven, clock }: CopyRefreshParts) {
    this.#postgres = postgres
    this.#copy = copy
    this.#proven = proven
    this.#clock = clock
  }

  /** Reads all stations. */
  async load(): Promise<void> {
    const { read, timeline } = this.#postgres
    const [snapshot] = await read<{ version: number }>(LAST)
    const records: StationRecord[] = []
    for (let last = ''; ; ) {
      const page = await read<StationRecord>(LOAD_STATIONS, [last])
      records.push(...page)
      if (page.length < PAGE) break
      last = page.at(-1)?.key ?? last
    }
    const provenRows = await read<{ key: StationKey; registeredAt: number }>(PROVEN)
    this.#proven.clear()
    for (const { key, registeredAt } of provenRows) this.#proven.set(key, registeredAt)
    // All pages of stations are from one timeline, because a change of the timeline ends all connections.
    this.#loadedTimeline = timeline()
    this.#copy.replace(records, snapshot?.version ?? 0)
  }

  /** Reads the stations that changed since the last refresh. */
  async follow(): Promise<void> {
    const { read, timeline } = this.#postgres
    const since = this.#copy.seen
    const rows = await read<ChangeRow>(STATION_CHANGES, [since])
    const [first] = rows
    // A standby that lacks the last transactions has become the primary, or an administrator restored the database.
    if (!first || first.version < since || timeline() !== this.#loadedTimeline) return this.load()
    if (first.changesSince > since) return this.load()
    if (first.version < this.#copy.seen) return // a refresh that began later has already finished
    const changes = rows.flatMap((row): Change[] =>
      row.changed === null ? [] : [[row.changed, row.key === null ? undefined : row]],
    )
    this.#copy.follow(changes, first.version)
  }

  /** Starts a refresh. If one is in progress, another starts after it. */
  readonly refresh = (): void => {
    if (this.#isClosed) return
    this.#isStale = true
    if (!this.#isRefreshing) void this.#run()
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
  }

  async #run(): Promise<void> {
    this.#isRefreshing = true
    this.#timer?.cancel()
    do {
      this.#isStale = false
      // An error of the refresh is ignored, because the connection logs faults of the database.
      await this.follow().catch(() => undefined)
    } while (this.#isStale && !this.#isClosed)
    this.#isRefreshing = false
    if (!this.#isClosed) this.#timer = this.#clock.after(REFRESH_EVERY_MS, this.refresh)
  }
}
