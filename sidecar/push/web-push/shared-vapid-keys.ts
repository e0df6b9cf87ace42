import type { Settings } from '../../config/settings.ts'
import { makeVapidKeys, parseVapidKeys, type VapidKeys } from '../../config/vapid-keys.ts'
import type { Log } from '../../log.ts'
import { type Keyring, VAPID_KEYS } from '../../messages/keyring.ts'
import { openVapidKeys, VapidKeysError } from './vapid-file.ts'

/**
 * The keys that subscriptions are made with: those that all have who share the database, where there is a `keyring`,
 * for a phone subscribes by one instance and is written to by any. A file that is named has to have the same ones, or
 * is where they come from. Without a keyring, those of {@link openVapidKeys}. Undefined while Web Push is off. Rejects
 * with a {@link VapidKeysError}.
 */
export async function agreeOnVapidKeys(
  settings: Settings,
  keyring: Keyring | undefined,
  log: Log,
): Promise<VapidKeys | undefined> {
  const { subject, keyFile } = settings.push.webpush
  if (keyring === undefined || subject === null) return openVapidKeys(settings, log)
  const own = keyFile === null ? undefined : await openVapidKeys(settings, log)
  const proposal = own ?? makeVapidKeys()
  const keys = parseVapidKeys(await keyring.settle(VAPID_KEYS, JSON.stringify(proposal)))
  if (!keys)
    throw new VapidKeysError(
      'The VAPID keys in the database are damaged.',
      'Restore the row of the table keyring from a backup: every subscription belongs to these keys. If they are lost for good, delete it: new ones are made at the next start, and every app has to subscribe anew.',
    )
  const areOurs = keys.publicKey === proposal.publicKey
  if (own && !areOurs)
    throw new VapidKeysError(
      `push.webpush.keyFile: ${keyFile} has other VAPID keys than the database, which all instances share.`,
      'Leave push.webpush.keyFile out: the keys are in the database.',
    )
  if (!own && areOurs)
    log.info('webpush-keys-made', 'New keys for Web Push were made; they are in the database, for all instances.')
  return keys
}
