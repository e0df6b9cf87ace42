import { readFileSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isPostgresAddress } from '../../config/postgres-address.ts'
import type { Settings, WebPushSettings } from '../../config/settings.ts'
import { makeVapidKeys, parseVapidKeys, VAPID_REMEDY, type VapidKeys, vapidKeyFile } from '../../config/vapid-keys.ts'
import type { Log } from '../../log.ts'
import { makeFolder } from '../../store/make-folder.ts'

/** The VAPID keys are unusable or cannot be stored. They are never replaced, because that ends all subscriptions. */
export class VapidKeysError extends Error {
  override readonly name = 'VapidKeysError'
  readonly remedy: string

  constructor(message: string, remedy: string) {
    super(message)
    this.remedy = remedy
  }
}

/**
 * Returns the VAPID keys from their file, which it creates if missing; undefined while Web Push is off. Rejects with a
 * {@link VapidKeysError}.
 */
export async function openVapidKeys(settings: Settings, log: Log): Promise<VapidKeys | undefined> {
  const { webpush } = settings.push
  if (webpush.subject === null) return undefined
  const file = vapidKeyFile(webpush.keyFile, settings.database)
  warnOfUnkeptKeys(settings, log)
  // Without a key file and a database file, the keys are only in memory.
  if (file === null) return makeVapidKeys()
  const text = read(file)
  if (text === undefined) return create(file, log)
  const keys = parseVapidKeys(text)
  if (!keys) throw new VapidKeysError(`push.webpush.keyFile: ${file} has no VAPID keys, or is damaged.`, VAPID_REMEDY)
  return keys
}

/** Warns the operator if the VAPID keys are only in memory. */
export function warnOfUnkeptKeys({ push: { webpush }, database }: Settings, log: Log): void {
  const areStored = isPostgresAddress(database) || vapidKeyFile(webpush.keyFile, database) !== null
  if (webpush.subject === null || areStored) return
  log.warn(
    'webpush-keys-not-kept',
    'The VAPID keys of Web Push are only in memory, like the database, so every app must subscribe again after each start. To keep them, set push.webpush.keyFile.',
  )
}

/** Creates keys for `--check`, which has already validated those in the file; undefined while Web Push is off. */
export function trialKeys({ subject }: WebPushSettings): VapidKeys | undefined {
  return subject === null ? undefined : makeVapidKeys()
}

/** Reads a key file. Returns undefined if it does not exist. */
function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw new VapidKeysError(
      `push.webpush.keyFile: ${file} cannot be read (${code}).`,
      'Give the user that runs the sidecar permission to read it.',
    )
  }
}

/**
 * Creates a key file with new keys. It writes a draft and then renames the draft, so that a crash leaves no partial key
 * file.
 */
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
      'Let the user that runs the sidecar write to its folder, or set push.webpush.keyFile to another file.',
    )
  }
  log.info('webpush-keys-made', 'Created new VAPID keys for Web Push. Include their file in your backups.', { file })
  return keys
}
