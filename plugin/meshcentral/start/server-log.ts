import { deepestMessage, type Log, printableFields, printableText } from '../../log.ts'
import type { MeshServer } from '../server.ts'
import { warnSiteAdmins } from './configuration-findings.ts'

/**
 * Returns a log that writes to the authentication log, because MeshCentral's launcher reacts to phrases on the console.
 */
export function logOf(server: Pick<MeshServer, 'authLog'>): Log {
  const writer =
    (level: string) =>
    (event: string, msg: string, fields: Readonly<Record<string, unknown>> = {}) =>
      server.authLog('OIDC', `${level} ${event}: ${printableText(msg)} ${JSON.stringify(printableFields(fields))}`)
  return { info: writer('INFO'), warn: writer('WARN'), error: writer('ERROR') }
}

/**
 * Reports that single sign-on is off. Also warns site admins, because the authentication log may not be configured.
 *
 * @param reason completes the sentence "Single sign-on by meshcompanion …"
 */
export function reportOff(server: MeshServer, reason: string): void {
  const text = printableText(`Single sign-on by meshcompanion ${reason}.`)
  server.authLog('OIDC', `ERROR not-taken-over: ${text}`)
  warnSiteAdmins(server, `${text} See the authentication log (settings.authLog).`)
}

export function reportFailure(server: Pick<MeshServer, 'authLog'>, error: unknown): void {
  server.authLog('OIDC', `ERROR internal: ${deepestMessage(error)}`)
}
