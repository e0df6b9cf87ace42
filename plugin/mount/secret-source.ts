import { readSecretFile } from '../config/credentials/client-secret-file.ts'
import type { Log } from '../log.ts'
import type { SecretSource } from '../provider/authentication/client-secret.ts'
import { readTextFile } from './read-text-file.ts'

const RELOADED = '`client.client_secret_file` now contains another secret, which is used from now on.'

/**
 * Creates an object that rereads a domain's client secret file. It logs when the file contains a new secret, and when
 * the file is unusable.
 */
export function secretSource(domain: string, log: Pick<Log, 'info' | 'warn'>): SecretSource {
  return {
    read: (file) => readSecretFile(file, readTextFile),
    onReloaded: (file) => log.info('client-secret-reloaded', RELOADED, { domain, file }),
    onUnusable(file, { reason, remedy }) {
      const message = `Could not read the client secret again; the old one stays in use. \`client.client_secret_file\` ${reason}. ${remedy}`
      log.warn('client-secret-unreadable', message, { domain, file })
    },
  }
}
