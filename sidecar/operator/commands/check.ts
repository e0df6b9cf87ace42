import { lookup } from 'node:dns/promises'
import { access, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { dirname, join, resolve } from 'node:path'
import { ListenError, listenHttp } from '../../api/http-listener.ts'
import { createApiServer } from '../../api/http-server.ts'
import { warnWithoutTls } from '../../api/server.ts'
import { warnOfReceiving } from '../../aprsis/link.ts'
import { systemClock } from '../../clock.ts'
import { isLoopback } from '../../config/address-scope.ts'
import { isPostgresAddress } from '../../config/postgres-address.ts'
import type { Settings } from '../../config/settings.ts'
import type { Log } from '../../log.ts'
import { openGateways } from '../../push/open-gateways.ts'
import { agreeOnVapidKeys } from '../../push/web-push/shared-vapid-keys.ts'
import { trialKeys, VapidKeysError, warnOfUnkeptKeys } from '../../push/web-push/vapid-file.ts'
import { inspectDatabase, tryFolder } from '../../store/sqlite/inspect.ts'
import { tryBackupFolder } from '../housekeeping/backups.ts'
import { warnNotLocal } from '../server.ts'
import { errorInWords } from './error-in-words.ts'
import { serviceGroup, unreadableByService } from './service-account.ts'

/** What a start with these settings would meet, each in a sentence or two. */
export interface Findings {
  readonly errors: readonly string[]
  readonly warnings: readonly string[]
}

/** The call of sidecar/deploy/sidecar.json and of the documents, which nobody has. */
const EXAMPLE_CALL = 'N0CALL'

/** These may be as they are because a sidecar runs, or because another user starts it. */
const PASSING_CODES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process has it. That is fine where it is the sidecar; a start beside any other fails',
  EACCES: 'this user may not have it. That is fine where another user, with more rights, starts the sidecar',
}

/**
 * Looks at everything that a start would open: push gateways, database, folder of backups, certificate, addresses.
 * Starts nothing, and leaves nothing behind.
 *
 * @param configFile if given, and this is root: whether the systemd service may read it and what it names is checked
 *   too
 */
export async function checkStart(settings: Settings, configFile?: string): Promise<Findings> {
  const errors: string[] = []
  const warnings: string[] = []
  const log = { ...SILENT, warn: (_event: string, msg: string) => void warnings.push(msg) }
  const attempt = async (where: string, work: () => unknown): Promise<void> => {
    try {
      await work()
    } catch (error) {
      errors.push(`${where}: ${errorInWords(error)}`)
    }
  }

  if (settings.aprsis.callsign.split('-')[0] === EXAMPLE_CALL)
    warnings.push(
      `aprsis.callsign is still the example's, ${settings.aprsis.callsign}: give your own, with its passcode.`,
    )
  warnOfReceiving(settings.aprsis, log)
  await attempt('push', () => tryGateways(settings, log))
  await attempt('database', async () => {
    if (isPostgresAddress(settings.database)) {
      const { inspectPostgres } = await import('../../store/postgres/inspect-postgres.ts')
      await inspectPostgres(settings, systemClock, log, (keyring) => agreeOnVapidKeys(settings, keyring, SILENT))
    } else if ((await inspectDatabase(settings.database)) === 'in_use')
      warnings.push('The database is in use, by a sidecar most likely: whether it is sound was not looked at.')
  })
  await attempt('push.webpush.keyFile', () => tryVapidFile(settings))
  if (configFile !== undefined)
    await attempt('files', async () => {
      errors.push(...(await unreadableByService(settings, resolve(configFile), await serviceGroup())))
    })
  await attempt('backup.folder', () => tryBackupFolder(settings.backup))
  await attempt('listen', async () => {
    const { certificateExpiresAt } = await createApiServer(settings.listen)
    const at = certificateExpiresAt()
    if (at !== undefined && at < systemClock.now())
      warnings.push(
        `The certificate in listen.certFile, or one of its chain, expired on ${new Date(at).toISOString().slice(0, 10)}: phones do not trust it. Renew it.`,
      )
  })
  for (const name of ['listen', 'admin'] as const) {
    await attempt(name, async () => {
      const loopback = await tryAddress(name, settings[name], warnings)
      if (name === 'admin') warnNotLocal(loopback, log)
      else warnWithoutTls(settings.listen, loopback, log)
    })
  }
  return { errors, warnings }
}

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} }

async function tryGateways(settings: Settings, log: Log): Promise<void> {
  warnOfUnkeptKeys(settings, log)
  const gateways = openGateways(settings.push, log, systemClock, trialKeys(settings.push.webpush))
  await Promise.all(Object.values(gateways).map((gateway) => gateway.close()))
}

/**
 * The keys of Web Push are made at the first start: where that could not be, this rejects. Beside the database it is as
 * with that.
 */
async function tryVapidFile({ push: { webpush } }: Settings): Promise<void> {
  const { subject, keyFile } = webpush
  if (subject === null || keyFile === null) return
  try {
    await access(keyFile)
  } catch {
    await tryFolder(dirname(keyFile), (trial) => writeFile(join(trial, 'keys.json'), MADE_OF)).catch(
      (error: unknown) => {
        const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
        throw new VapidKeysError(
          `${keyFile} is not there and cannot be made (${code}).`,
          'Let the user that runs the sidecar write into its folder, or name another file.',
        )
      },
    )
  }
}

/** As long as a pair of keys. */
const MADE_OF = ' '.repeat(200)

/**
 * Says whether only this machine can reach the address. Rejects when it cannot be had, unless something else has it
 * now.
 */
async function tryAddress(
  name: 'listen' | 'admin',
  { host, port }: { readonly host: string; readonly port: number },
  warnings: string[],
): Promise<boolean> {
  try {
    const listener = await listenHttp(createServer(), 'http', host, port)
    await listener.close()
    return listener.loopback
  } catch (error) {
    const reason = error instanceof ListenError ? PASSING_CODES[error.code] : undefined
    if (reason === undefined) throw error
    warnings.push(`${name}.port ${port} cannot be had now: ${reason}.`)
    return isLoopback((await lookup(host)).address)
  }
}
