import type { Settings } from '../../config/settings.ts'
import { makeVapidKeys, parseVapidKeys, type VapidKeys } from '../../config/vapid-keys.ts'
import type { Log } from '../../log.ts'
import { type Keyring, VAPID_KEYS } from '../../messages/keyring.ts'
import { openVapidKeys, VapidKeysError } from './vapid-file.ts'

/**
 * Returns the VAPID keys of Web Push; undefined while it is off. With a `keyring`, all instances use its keys, because
 * a phone may subscribe through one and be notified by another. Rejects with a {@link VapidKeysError}.
 */
export async function agreeOnVapidKeys(
  settings: Settings,
  keyring: Keyring | undefined,
  log: Log,
): Promise<VapidKeys | undefined> {
  const { subject, keyFile } = settings.push.webpush
  if (keyring === undefined || subject === null) return openVapidKeys(settings, log)
  const keysInFile = keyFile === null ? undefined : await openVapidKeys(settings, log)
  // Stored only if the keyring has no keys yet.
  const proposal = keysInFile ?? makeVapidKeys()
  const keys = parseVapidKeys(await keyring.settle(VAPID_KEYS, JSON.stringify(proposal)))
  if (!keys)
    throw new VapidKeysError(
      'The VAPID keys in the database are damaged.',
      'Restore the row of the table keyring from a backup, because every subscription belongs to its keys. If they are lost, delete the row: the next start creates new ones, and every app must subscribe again.',
    )
  const isOurProposal = keys.publicKey === proposal.publicKey
  if (keysInFile && !isOurProposal)
    throw new VapidKeysError(
      `push.webpush.keyFile: the VAPID keys in ${keyFile} differ from those in the database, which all instances share.`,
      'Remove push.webpush.keyFile, because the keys are in the database.',
    )
  if (!keysInFile && isOurProposal)
    log.info('webpush-keys-made', 'Created new VAPID keys for Web Push. They are in the database, for all instances.')
  return keys
}
