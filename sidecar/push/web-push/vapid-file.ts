import { readFileSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isPostgresAddress } from '../../config/postgres-address.ts'
import type { Settings, WebPushSettings } from '../../config/settings.ts'
import { makeVapidKeys, parseVapidKeys, VAPID_REMEDY, type VapidKeys, vapidKeyFile } from '../../config/vapid-keys.ts'
import type { Log } from '../../log.ts'
import { makeFolder } from '../../store/make-folder.ts'

/**
 * The VAPID keys that are kept are of no use, and must not be replaced in silence; `remedy` is what the operator should
 * do.
 */
export class VapidKeysError extends Error {
  override readonly name = 'VapidKeysError'
  readonly remedy: string

  constructor(message: string, remedy: string) {
    super(message)
    this.remedy = remedy
  }
}

/**
 * The keys that subscriptions are made with: those in their file, or new ones, kept there, where it is missing.
 * Undefined while Web Push is off. Rejects with a {@link VapidKeysError}.
 */
export async function openVapidKeys(settings: Settings, log: Log): Promise<VapidKeys | undefined> {
  const { webpush } = settings.push
  if (webpush.subject === null) return undefined
  const file = vapidKeyFile(webpush.keyFile, settings.database)
  warnOfUnkeptKeys(settings, log)
  if (file === null) return makeVapidKeys()
  const text = read(file)
  if (text === undefined) return create(file, log)
  const keys = parseVapidKeys(text)
  if (!keys)
    throw new VapidKeysError(`push.webpush.keyFile: ${file} has no VAPID keys in it, or is damaged.`, VAPID_REMEDY)
  return keys
}

export function warnOfUnkeptKeys({ push: { webpush }, database }: Settings, log: Log): void {
  const isKept = isPostgresAddress(database) || vapidKeyFile(webpush.keyFile, database) !== null
  if (webpush.subject === null || isKept) return
  log.warn(
    'webpush-keys-not-kept',
    'The keys of Web Push are in memory only, like the database: apps have to subscribe anew after each start. push.webpush.keyFile keeps them.',
  )
}

/**
 * Keys to try a configuration with; undefined while Web Push is off. Those in the file are looked at with the
 * configuration itself.
 */
export function trialKeys({ subject }: WebPushSettings): VapidKeys | undefined {
  return subject === null ? undefined : makeVapidKeys()
}

/** Undefined when there is no such file. */
function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw new VapidKeysError(
      `push.webpush.keyFile: ${file} cannot be read (${code}).`,
      'Let the user that runs the sidecar read it.',
    )
  }
}

/** Whole, or not at all: half a file would have to be taken for a damaged one. */
async function create(file: string, log: Log): Promise<VapidKeys> {
  const keys = makeVapidKeys()
  const draft = `${file}.new`
  try {
    await makeFolder(dirname(file))
    const handle = await open(draft, 'w', 0o600)
    try {
      await handle.writeFile(`${JSON.stringify(keys)}\n`)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(draft, file)
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined)
    throw new VapidKeysError(
      `push.webpush.keyFile: ${file} cannot be written (${(error as NodeJS.ErrnoException).code}).`,
      'Let the user that runs the sidecar write into its folder, or name another file.',
    )
  }
  log.info('webpush-keys-made', 'New keys for Web Push were made; keep their file with your backups.', { file })
  return keys
}
