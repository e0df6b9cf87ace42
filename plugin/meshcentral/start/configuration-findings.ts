import type { ServerReading } from '../../config/meshcentral/server-reading.ts'
import type { Problem } from '../../config/problem.ts'
import type { DomainReading } from '../../config/read.ts'
import { printableText } from '../../log.ts'
import type { MeshServer } from '../server.ts'

/** Limit of warnings. MeshCentral sends every warning to each page that a site admin opens. */
const MOST_WARNINGS = 20

/** Warns site admins of problems in the configuration, because the authentication log may not be configured. */
export function warnOfConfiguration(
  server: Pick<MeshServer, 'addServerWarning'>,
  reading: ServerReading,
  domains: readonly DomainReading[],
): void {
  const texts = [
    ...sentencesOf(reading),
    ...domains.flatMap(({ problems, warnings }) => [...problems, ...warnings].map(sentence)),
  ]
  for (const text of texts.slice(0, MOST_WARNINGS)) warnSiteAdmins(server, `Single sign-on: ${text}`)
  const remaining = texts.length - MOST_WARNINGS
  if (remaining <= 0) return
  warnSiteAdmins(
    server,
    `Single sign-on: The configuration has ${remaining} more problems. See the authentication log (settings.authLog) or the status page.`,
  )
}

/** Writes problems of the server's own settings to the authentication log. Problems of domains are logged elsewhere. */
export function logServerReading(server: Pick<MeshServer, 'authLog'>, { problems, warnings }: ServerReading): void {
  for (const problem of problems) {
    server.authLog('OIDC', `ERROR configuration-error: ${printableText(sentence(problem))}`)
  }
  for (const { code, ...warning } of warnings) {
    const fields = JSON.stringify({ path: warning.path, code })
    server.authLog('OIDC', `WARN configuration-warning: ${printableText(sentence(warning))} ${fields}`)
  }
}

/** Returns the problems of the server's own settings as sentences. */
export function sentencesOf({ problems, warnings }: ServerReading): readonly string[] {
  return [...problems, ...warnings].map(sentence)
}

function sentence({ path, reason, remedy }: Problem): string {
  return `${path} ${reason}. ${remedy}`
}

/** Adds a warning that MeshCentral's page shows as markup. Quotation marks stay, because the console shows it too. */
export function warnSiteAdmins(server: Pick<MeshServer, 'addServerWarning'>, text: string): void {
  const escaped = printableText(text).replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`)
  server.addServerWarning?.(escaped)
}
