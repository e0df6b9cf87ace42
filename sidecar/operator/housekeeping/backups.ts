import { access, constants, mkdir, mkdtemp, readdir, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Clock } from '../../clock.ts'
import type { BackupSettings } from '../../config/settings.ts'
import type { Log } from '../../log.ts'
import type { ExclusiveStore } from '../../messages/store.ts'
import type { Metrics } from '../../metrics.ts'
import { isBackup, isDraft, nameOf, timeOf } from './backup-names.ts'
import { runOnSchedule } from './schedule.ts'

/** The outcome of a request for a backup. */
export type BackupOutcome =
  | { readonly kind: 'made'; readonly file: string; readonly bytes: number }
  /** No backup folder is configured. */
  | { readonly kind: 'off' }
  /** Another backup is already running. */
  | { readonly kind: 'busy' }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }

/** Makes backups of the database at night and on request. Keeps only the newest. */
export interface Backups {
  /** Makes a backup now. Never rejects. `file` in the outcome is the name of the file in `backup.folder`. */
  make(): Promise<BackupOutcome>
  /**
   * Returns the time of the newest backup in milliseconds since 1970, if any. Ignores backups from a clock that was
   * ahead.
   */
  lastMadeAt(): number | undefined
  /** Stops the nightly backups. Cancels a running backup, which then leaves no file. Idempotent. */
  close(): Promise<void>
}

interface BackupParts {
  /** Copies the store into a file; undefined if the database is PostgreSQL, which has its own backups. */
  readonly backUp: ExclusiveStore['backUp'] | undefined
  readonly settings: BackupSettings
  /** The sidecar's callsign. File names contain it, because several sidecars may use the same backup folder. */
  readonly callsign: string
  readonly clock: Clock
  readonly metrics: Metrics
  readonly log: Log
}

/**
 * Cron expression of the nightly backup, in local time. Traffic is low at night. The odd minute avoids the time at
 * which other jobs of the machine start.
 */
const DAILY = '43 3 * * *'

const FOLDER_OWNER_ONLY = 0o700

/** The error if the backup folder cannot be used. `remedy` tells the operator what to do. */
export class BackupFolderError extends Error {
  override readonly name = 'BackupFolderError'
  readonly code: string
  readonly remedy =
    'Create the folder in backup.folder, let the user that runs the sidecar write to it, or set backup.folder to null.'

  constructor(folder: string, cause: unknown) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
    super(`The backup folder ${folder} cannot be used (${code}).`, { cause })
    this.code = code
  }
}

/** Creates the backup folder if needed, and starts nightly backups. Rejects with a {@link BackupFolderError}. */
export async function openBackups(parts: BackupParts): Promise<Backups> {
  const { folder } = parts.settings
  const { backUp, callsign } = parts
  if (folder === null || !backUp)
    return { make: async () => ({ kind: 'off' }), lastMadeAt: () => undefined, close: async () => {} }
  try {
    await makeFolder(folder)
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    return new BackupFolder(folder, backUp, parts, await timesIn(folder, callsign))
  } catch (error) {
    throw new BackupFolderError(folder, error)
  }
}

/**
 * Checks whether {@link openBackups} would succeed, without leaving a file or folder. Rejects with a {@link
 * BackupFolderError} if not.
 */
export async function tryBackupFolder({ folder }: BackupSettings): Promise<void> {
  if (folder === null) return
  try {
    const existing = await stat(folder).catch(() => undefined)
    await rmdir(await mkdtemp(join(existing ? folder : dirname(folder), '.mesh-companion-check-')))
  } catch (error) {
    throw new BackupFolderError(folder, error)
  }
}

/** Creates the folder, but not its parent folders, so that a misspelt path is reported. */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, FOLDER_OWNER_ONLY)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}

/**
 * Makes and removes the backups in a folder.
 *
 * A backup removes drafts that a crash left, copies the database, and then removes the oldest backups above
 * `backup.keep`. If the copy fails, none is removed. Meanwhile and after `close`, other requests get `busy`.
 */
class BackupFolder implements Backups {
  readonly #folder: string
  readonly #backUp: ExclusiveStore['backUp']
  readonly #parts: BackupParts
  readonly #stopping = new AbortController()
  readonly #schedule: { close(): Promise<void> }
  #running: Promise<BackupOutcome> | undefined
  /** Times of the backups in the folder, in milliseconds since 1970. */
  #times: readonly number[]

  constructor(folder: string, backUp: ExclusiveStore['backUp'], parts: BackupParts, times: readonly number[]) {
    this.#folder = folder
    this.#backUp = backUp
    this.#parts = parts
    this.#times = times
    this.#schedule = runOnSchedule(async () => void (await this.make()), parts.clock, DAILY)
  }

  make(): Promise<BackupOutcome> {
    if (this.#running !== undefined || this.#stopping.signal.aborted) return Promise.resolve({ kind: 'busy' })
    this.#running = this.#makeOne().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  lastMadeAt(): number | undefined {
    const past = this.#times.filter((time) => time <= this.#parts.clock.now())
    return past.length === 0 ? undefined : Math.max(...past)
  }

  async close(): Promise<void> {
    this.#stopping.abort()
    await this.#schedule.close()
    await this.#running
  }

  async #makeOne(): Promise<BackupOutcome> {
    const { callsign, clock, metrics, log } = this.#parts
    const { signal } = this.#stopping
    const file = nameOf(callsign, clock.now())
    try {
      await this.#removeDrafts()
      signal.throwIfAborted()
      const bytes = await this.#backUp(join(this.#folder, file), signal)
      this.#times = [timeOf(file)]
      metrics.count('backups_made')
      log.info('backup-made', 'A backup of the database was made.', { file, bytes })
      await this.#removeOld(file)
      this.#times = await timesIn(this.#folder, callsign)
      return { kind: 'made', file, bytes }
    } catch (error) {
      return this.#failed(error)
    }
  }

  #failed(error: unknown): BackupOutcome {
    const { code, message } = describe(error)
    if (this.#stopping.signal.aborted) return { kind: 'failed', code: 'stopping', message: 'The sidecar is stopping.' }
    const { metrics, log } = this.#parts
    metrics.count('backups_failed')
    log.error(
      'backup-failed',
      'Could not make a backup. The sidecar tries again at the next daily backup. To try sooner, send POST /backup to the operator port.',
      {
        folder: this.#folder,
        error,
      },
    )
    return { kind: 'failed', code, message }
  }

  async #removeDrafts(): Promise<void> {
    for (const name of await readdir(this.#folder))
      if (isDraft(name, this.#parts.callsign)) await rm(join(this.#folder, name), { force: true })
  }

  /** Removes the oldest backups above `backup.keep`. Those after `newest`, from a clock that was ahead, go first. */
  async #removeOld(newest: string): Promise<void> {
    const { settings, callsign } = this.#parts
    const names = (await readdir(this.#folder)).filter((name) => isBackup(name, callsign) && name !== newest).sort()
    const byAge = [...names.filter((name) => name > newest), ...names.filter((name) => name < newest)]
    const old = byAge.slice(0, Math.max(0, byAge.length - (settings.keep - 1)))
    for (const name of old) await rm(join(this.#folder, name), { force: true })
  }
}

async function timesIn(folder: string, callsign: string): Promise<readonly number[]> {
  return (await readdir(folder)).filter((name) => isBackup(name, callsign)).map(timeOf)
}

function describe(error: unknown): { readonly code: string; readonly message: string } {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
  // The store's message for `disk_full` names the disk of the database, but here the disk of the backup folder is full.
  if (code === 'disk_full') return { code, message: 'There is no space left in backup.folder.' }
  return { code, message: error instanceof Error ? error.message : 'unknown error' }
}
