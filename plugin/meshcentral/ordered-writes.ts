import type { Clock } from '../clock.ts'
import { askDatabase, WRITE_LIMIT_MS } from './database.ts'
import type { MeshDatabase } from './server.ts'

/** People, groups, and what is ours. Devices are MeshCentral's own affair, and many. */
const IN_ORDER = /^(?:user|ugrp|meshcompanion[a-z]*)\//

type Done = (error?: unknown) => void
type Write = (done: Done) => void

/**
 * Has the writes of one record reach the database in the order in which they were called for, MeshCentral's own among
 * them: it waits for none, and SQLite and pools of connections (MariaDB, MySQL) swap those that are under way together,
 * so that an older state stays. While one is under way only the newest of the others waits: it has all that theirs had.
 */
export function orderWrites(db: MeshDatabase, clock: Clock): void {
  /** By record, where a write is under way: the one to come, and whom that is told to. */
  const next = new Map<string, { write?: Write; readonly told: Done[] }>()

  async function begin(id: string, write: Write, told: readonly Done[]): Promise<void> {
    next.set(id, { told: [] })
    // One that does not answer holds up no more than those who wait by then.
    const error: unknown = await askDatabase(clock, 'write a record', write, WRITE_LIMIT_MS).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    const waiting = next.get(id)
    next.delete(id)
    if (waiting?.write) void begin(id, waiting.write, waiting.told)
    for (const done of told) done(error)
  }

  function inOrder(id: string, write: Write, done?: Done): void {
    const told = done ? [done] : []
    const waiting = next.get(id)
    if (!waiting) {
      void begin(id, write, told)
      return
    }
    waiting.write = write
    waiting.told.push(...told)
  }

  const set = db.Set.bind(db)
  const remove = db.Remove.bind(db)
  db.Set = (record, done) => {
    const id: unknown = Reflect.get(record, '_id')
    if (typeof id === 'string' && IN_ORDER.test(id)) inOrder(id, (written) => set(record, written), done)
    else set(record, done)
  }
  db.Remove = (id, done) => {
    if (IN_ORDER.test(id)) inOrder(id, (removed) => remove(id, removed), done)
    else remove(id, done)
  }
}
