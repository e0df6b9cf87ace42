import type { Clock } from '../clock.ts'
import { askDatabase, WRITE_LIMIT_MS } from './database.ts'
import { replaceFunction } from './replaced-functions.ts'
import type { MeshDatabase } from './server.ts'

/**
 * Matches records that must be written in order. Devices are not among them, because a queue for their frequent writes
 * would slow the server.
 */
const IN_ORDER = /^(?:user|ugrp|meshcompanion[a-z]*)\//

type Done = (error?: unknown) => void
type Write = (done: Done) => void

interface PendingWrites {
  /** The newest of the writes that wait. It includes the changes of the others. */
  write?: Write
  /** The callbacks of the newest waiting write, and of the writes that it replaced. */
  readonly callbacks: Done[]
}

/**
 * Makes the database execute the writes of each record in order, including MeshCentral's own. MeshCentral does not wait
 * for them, and SQLite or pools (MariaDB, MySQL) may swap them. Meanwhile, only the newest write of a record waits,
 * because it includes the others.
 */
export function orderWrites(db: MeshDatabase, clock: Clock): void {
  /** The writes that wait for another write of the same record, by the record's id. */
  const pending = new Map<string, PendingWrites>()

  async function begin(id: string, write: Write, callbacks: readonly Done[]): Promise<void> {
    pending.set(id, { callbacks: [] })
    // If the database does not answer within the time limit, stop waiting, so that the next write can start.
    const error: unknown = await askDatabase(clock, 'write a record', write, WRITE_LIMIT_MS).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    const waiting = pending.get(id)
    pending.delete(id)
    if (waiting?.write) void begin(id, waiting.write, waiting.callbacks)
    for (const done of callbacks) done(error)
  }

  function inOrder(id: string, write: Write, done?: Done): void {
    const callbacks = done ? [done] : []
    const waiting = pending.get(id)
    if (!waiting) {
      void begin(id, write, callbacks)
      return
    }
    waiting.write = write
    waiting.callbacks.push(...callbacks)
  }

  replaceFunction('db.Set', db, 'Set', (set) => (record: object & { readonly _id?: unknown }, done) => {
    const { _id: id } = record
    if (typeof id === 'string' && IN_ORDER.test(id)) inOrder(id, (written) => set(record, written), done)
    else set(record, done)
  })
  replaceFunction('db.Remove', db, 'Remove', (remove) => (id, done) => {
    if (IN_ORDER.test(id)) inOrder(id, (removed) => remove(id, removed), done)
    else remove(id, done)
  })
}
