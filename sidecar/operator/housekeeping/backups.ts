import { access, constants, mkdir, mkdtemp, readdir, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Clock } from '../../clock.ts'
import type { BackupSettings } from '../../config/settings.ts'
import type { Log } from '../../log.ts'
import type { ExclusiveStore } from '../../messages/store.ts'
import type { Metrics } from '../../metrics.ts'
import { runOnSchedule } from './schedule.ts'

/** What came of the wish for a backup. */
export type BackupOutcome =
  | { readonly kind: 'made'; readonly file: string; readonly bytes: number }
  /** No folder is configured. */
  | { readonly kind: 'off' }
  /** One is being made. */
  | { readonly kind: 'busy' }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }

/** Copies of the database, made at night and on request, of which the newest are kept. */
export interface Backups {
  /** Makes one now; never rejects. `file` is its name in `backup.folder`. */
  make(): Promise<BackupOutcome>
  /**
   * When the newest one was made, in milliseconds since 1970; undefined when there is none, or no folder. One that is
   * later than now says nothing: the clock was ahead.
   */
  lastMadeAt(): number | undefined
  /** Ends one that is under way, which leaves nothing behind. Twice is fine. */
  close(): Promise<void>
}

interface Parts {
  /** Copies the store into a file; undefined where the database has its own backups. */
  readonly backUp: ExclusiveStore['backUp'] | undefined
  readonly settings: BackupSettings
  /** The sidecar's own call, which the files bear: several sidecars may share a folder. */
  readonly callsign: string
  readonly clock: Clock
  readonly metrics: Metrics
  readonly log: Log
}

/**
 * Every night, by local time: when there is the least to do, and not at the minute at which the machine's own jobs
 * begin.
 */
const DAILY = '43 3 * * *'

const FOLDER_OWNER_ONLY = 0o700

/** The folder cannot be had; `remedy` is what the operator should do. */
export class BackupFolderError extends Error {
  override readonly name = 'BackupFolderError'
  readonly code: string
  readonly remedy =
    'Make the folder that backup.folder names, let the user that runs the sidecar write to it, or set it to null.'

  constructor(folder: string, cause: unknown) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
    super(`The folder for backups, ${folder}, cannot be used (${code}).`, { cause })
    this.code = code
  }
}

/** Makes sure of the folder, and has backups made there from now on. Rejects with a {@link BackupFolderError}. */
export async function openBackups(parts: Parts): Promise<Backups> {
  const { folder } = parts.settings
  const { backUp } = parts
  if (folder === null || !backUp)
    return { make: async () => ({ kind: 'off' }), lastMadeAt: () => undefined, close: async () => {} }
  try {
    await makeFolder(folder)
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    return backupsIn(folder, backUp, parts, await timesIn(folder, parts.callsign))
  } catch (error) {
    throw new BackupFolderError(folder, error)
  }
}

/** Rejects with a {@link BackupFolderError} where {@link openBackups} would; makes nothing that stays. */
export async function tryBackupFolder({ folder }: BackupSettings): Promise<void> {
  if (folder === null) return
  try {
    const found = await stat(folder).catch(() => undefined)
    await rmdir(await mkdtemp(join(found ? folder : dirname(folder), '.mesh-companion-check-')))
  } catch (error) {
    throw new BackupFolderError(folder, error)
  }
}

/** Not those above it: a misspelt path is to be told, not made. */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, FOLDER_OWNER_ONLY)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}

function backupsIn(folder: string, backUp: ExclusiveStore['backUp'], parts: Parts, found: readonly number[]): Backups {
  const { settings, callsign, clock, metrics, log } = parts
  const stopping = new AbortController()
  let making: Promise<BackupOutcome> | undefined
  /** Of those in the folder. */
  let times = found
  const schedule = runOnSchedule(async () => void (await make()), clock, DAILY)

  function make(): Promise<BackupOutcome> {
    if (making !== undefined || stopping.signal.aborted) return Promise.resolve({ kind: 'busy' })
    making = makeOne().finally(() => {
      making = undefined
    })
    return making
  }

  async function makeOne(): Promise<BackupOutcome> {
    const file = nameOf(callsign, clock.now())
    try {
      await removeDrafts()
      stopping.signal.throwIfAborted()
      const bytes = await backUp(join(folder, file), stopping.signal)
      times = [timeOf(file)]
      metrics.count('backups_made')
      log.info('backup-made', 'The database was copied.', { file, bytes })
      await removeOld(file)
      times = await timesIn(folder, callsign)
      return { kind: 'made', file, bytes }
    } catch (error) {
      return failed(error)
    }
  }

  function failed(error: unknown): BackupOutcome {
    const { code, message } = describe(error)
    if (stopping.signal.aborted) return { kind: 'failed', code: 'stopping', message: 'The sidecar stops.' }
    metrics.count('backups_failed')
    log.error('backup-failed', 'A backup could not be made; the next one is tried tomorrow, or on request.', {
      folder,
      error,
    })
    return { kind: 'failed', code, message }
  }

  /** Those that a crash has left. */
  async function removeDrafts(): Promise<void> {
    for (const name of await readdir(folder)) if (isDraft(name, callsign)) await rm(join(folder, name), { force: true })
  }

  /**
   * The one just made is the newest: what says that it is of later was made while the clock was ahead, and goes before
   * all others.
   */
  async function removeOld(newest: string): Promise<void> {
    const names = (await readdir(folder)).filter((name) => isBackup(name, callsign) && name !== newest).sort()
    const byAge = [...names.filter((name) => name > newest), ...names.filter((name) => name < newest)]
    const old = byAge.slice(0, Math.max(0, byAge.length - (settings.keep - 1)))
    for (const name of old) await rm(join(folder, name), { force: true })
  }

  return {
    make,
    lastMadeAt() {
      const past = times.filter((time) => time <= clock.now())
      return past.length === 0 ? undefined : Math.max(...past)
    },
    async close() {
      stopping.abort()
      await schedule.close()
      await making
    },
  }
}

async function timesIn(folder: string, callsign: string): Promise<readonly number[]> {
  return (await readdir(folder)).filter((name) => isBackup(name, callsign)).map(timeOf)
}

const PREFIX = 'mesh-companion-'
const TIME = '\\d{8}T\\d{9}Z'

/** `mesh-companion-N0CALL-10-20260131T235959123Z.sqlite`, in UTC: names sort by age. */
function nameOf(callsign: string, now: number): string {
  return `${PREFIX}${callsign}-${new Date(now).toISOString().replaceAll(/[-:.]/g, '')}.sqlite`
}

/** When a backup of that name was made, in milliseconds since 1970. */
function timeOf(name: string): number {
  const written = name.slice(name.lastIndexOf('-') + 1)
  return Date.parse(written.replace(/^(.{4})(..)(..T..)(..)(..)([^Z]*Z).*$/, '$1-$2-$3:$4:$5.$6'))
}

// Exactly ours: whatever else is in the folder is somebody else's.
function isBackup(name: string, callsign: string): boolean {
  return new RegExp(`^${PREFIX}${callsign}-${TIME}\\.sqlite$`).test(name)
}

function isDraft(name: string, callsign: string): boolean {
  return new RegExp(`^${PREFIX}${callsign}-${TIME}\\.sqlite\\.part(-journal|-wal)?$`).test(name)
}

function describe(error: unknown): { readonly code: string; readonly message: string } {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
  // The store's own words are about the database.
  if (code === 'disk_full') return { code, message: 'There is no room for a copy in backup.folder.' }
  return { code, message: error instanceof Error ? error.message : 'unknown error' }
}
