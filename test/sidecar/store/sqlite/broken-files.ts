import { readFile, rm, truncate, writeFile } from 'node:fs/promises'
import type { StoreErrorCode } from '../../../../sidecar/errors.ts'
import { connect } from '../../../../sidecar/store/sqlite/database/connection.ts'
import { BASELINE, NEWEST } from '../../../../sidecar/store/sqlite/database/migrations.ts'

/** A broken database file: its error code, and how to make it from a valid, closed file. */
export type BrokenFile = readonly [what: string, code: StoreErrorCode, make: (path: string) => Promise<void>]

async function overwritten(path: string, change: (bytes: Buffer) => unknown): Promise<void> {
  const bytes = await readFile(path)
  change(bytes)
  await writeFile(path, bytes)
}

export const BROKEN_FILES: readonly BrokenFile[] = [
  [
    'not a database',
    'database_corrupt',
    (path) => writeFile(path, 'SQLite format 3\0 or so, and then some text'.repeat(100)),
  ],
  ['a short text', 'database_corrupt', (path) => writeFile(path, 'not a database')],
  ['damaged', 'database_corrupt', (path) => overwritten(path, (bytes) => bytes.fill(0x5a, 4096, bytes.length - 100))],
  ['damaged in one page', 'database_corrupt', (path) => overwritten(path, (bytes) => bytes.fill(0xa5, 2048, 3072))],
  // How many pages are free (https://sqlite.org/fileformat.html, 1.3).
  [
    'damaged in its header',
    'database_corrupt',
    (path) => overwritten(path, (bytes) => bytes.writeUInt32BE(bytes.readUInt32BE(36) + 1, 36)),
  ],
  ['truncated', 'database_corrupt', async (path) => truncate(path, (await readFile(path)).length - 4096)],
  ['of a newer version', 'database_newer', (path) => run(path, `PRAGMA user_version = ${NEWEST + 1}`)],
  ['of an older version', 'database_outdated', (path) => run(path, `PRAGMA user_version = ${BASELINE - 1}`)],
  ['from another program', 'database_foreign', foreign],
]

/** Makes the database of another program. */
export async function foreign(path: string): Promise<void> {
  await rm(path, { force: true })
  await run(path, 'CREATE TABLE cookie (name TEXT); PRAGMA user_version = 1')
}

/** Runs statements on a file that no store has open. */
export async function run(path: string, sql: string): Promise<void> {
  const connection = await connect(path, 0)
  await connection.exec(sql)
  await connection.close()
}
