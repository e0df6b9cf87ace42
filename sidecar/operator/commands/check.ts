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
import { type Log, SILENT_LOG } from '../../log.ts'
import { openGateways } from '../../push/open-gateways.ts'
import { agreeOnVapidKeys } from '../../push/web-push/shared-vapid-keys.ts'
import { trialKeys, VapidKeysError, warnOfUnkeptKeys } from '../../push/web-push/vapid-file.ts'
import { inspectDatabase, tryFolder } from '../../store/sqlite/inspect.ts'
import { tryBackupFolder } from '../housekeeping/backups.ts'
import { warnNotLocal } from '../server.ts'
import { errorText } from './error-text.ts'
import { serviceGroup, unreadableByService } from './service-account.ts'

/** The errors and warnings that a start with these settings would cause, each in a sentence or two. */
export interface Findings {
  readonly errors: readonly string[]
  readonly warnings: readonly string[]
}

/** The placeholder callsign in sidecar/deploy/sidecar.json and in the documents. */
const EXAMPLE_CALLSIGN = 'N0CALL'

/**
 * Warnings by error code for an address that cannot be used now, but perhaps at the start: the sidecar itself may use
 * it.
 */
const PASSING_CODES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process uses it. That is fine if it is the sidecar; otherwise the start fails',
  EACCES: 'this user may not use it. That is fine if a user with more privileges starts the sidecar',
}

/**
 * Checks everything that a start would open: push gateways, database, backup folder, certificate and addresses. Leaves
 * no files or folders.
 *
 * @param configFile if root runs the check, it tests whether the systemd service may read this file and those it names
 */
export async function checkStart(settings: Settings, configFile?: string): Promise<Findings> {
  const errors: string[] = []
  const warnings: string[] = []
  const log = { ...SILENT_LOG, warn: (_event: string, msg: string) => void warnings.push(msg) }
  const attempt = async (where: string, work: () => unknown): Promise<void> => {
    try {
      await work()
    } catch (error) {
      errors.push(`${where}: ${errorText(error)}`)
    }
  }

  if (settings.aprsis.callsign.split('-')[0] === EXAMPLE_CALLSIGN)
    warnings.push(
      `aprsis.callsign is still the example, ${settings.aprsis.callsign}. Set it to your own callsign, and aprsis.passcode to its passcode.`,
    )
  warnOfReceiving(settings.aprsis, log)
  await attempt('push', () => tryGateways(settings, log))
  await attempt('database', async () => {
    if (isPostgresAddress(settings.database)) {
      const { inspectPostgres } = await import('../../store/postgres/inspect-postgres.ts')
      await inspectPostgres(settings, systemClock, log, (keyring) => agreeOnVapidKeys(settings, keyring, SILENT_LOG))
    } else if ((await inspectDatabase(settings.database)) === 'in_use')
      warnings.push('The database is in use, probably by a sidecar, so it was not checked for damage.')
  })
  await attempt('push.webpush.keyFile', () => tryVapidFile(settings))
  if (configFile !== undefined)
    await attempt('files', async () => {
      errors.push(...(await unreadableByService(settings, resolve(configFile), await serviceGroup())))
    })
  await attempt('backup.folder', () => tryBackupFolder(settings.backup))
  await attempt('listen', async () => {
    const { certificateExpiresAt } = await createApiServer(settings.listen)
    const expiresAt = certificateExpiresAt()
    if (expiresAt !== undefined && expiresAt < systemClock.now())
      warnings.push(
        `The certificate in listen.certFile, or one of its chain, expired on ${new Date(expiresAt).toISOString().slice(0, 10)}, so phones do not trust it. Renew it.`,
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

async function tryGateways(settings: Settings, log: Log): Promise<void> {
  warnOfUnkeptKeys(settings, log)
  const gateways = openGateways(settings.push, log, systemClock, trialKeys(settings.push.webpush))
  await Promise.all(Object.values(gateways).map((gateway) => gateway.close()))
}

/**
 * Rejects if the first start could not create the Web Push key file. The check of the database covers the default
 * file's folder.
 */
async function tryVapidFile({ push: { webpush } }: Settings): Promise<void> {
  const { subject, keyFile } = webpush
  if (subject === null || keyFile === null) return
  try {
    await access(keyFile)
  } catch {
    await tryFolder(dirname(keyFile), (trial) => writeFile(join(trial, 'keys.json'), SAMPLE)).catch(
      (error: unknown) => {
        const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
        throw new VapidKeysError(
          `${keyFile} does not exist and cannot be created (${code}).`,
          'Let the user that runs the sidecar write to its folder, or set push.webpush.keyFile to another file.',
        )
      },
    )
  }
}

/** Test content of a key file. It is about as long as a real pair of keys. */
const SAMPLE = ' '.repeat(200)

/**
 * Tries to listen on an address; returns whether it is loopback. {@link PASSING_CODES} only warn; other errors reject.
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
    warnings.push(`${name}.port ${port} cannot be used now: ${reason}.`)
    return isLoopback((await lookup(host)).address)
  }
}
