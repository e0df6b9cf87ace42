import { readSecretFile } from '../config/credentials/client-secret-file.ts'
import type { Log } from '../log.ts'
import type { SecretSource } from '../provider/authentication/client-secret.ts'
import { readTextFile } from './read-text-file.ts'

const RELOADED = '`client.client_secret_file` holds another secret by now. It is used from now on.'

/** The file system, where the client secret of a domain is read again. */
export function secretSource(domain: string, log: Pick<Log, 'info' | 'warn'>): SecretSource {
  return {
    read: (file) => readSecretFile(file, readTextFile),
    onReloaded: (file) => log.info('client-secret-reloaded', RELOADED, { domain, file }),
    onUnusable(file, { reason, remedy }) {
      const message = `The client secret cannot be read again: \`client.client_secret_file\` ${reason}. ${remedy}`
      log.warn('client-secret-unreadable', message, { domain, file })
    },
  }
}
