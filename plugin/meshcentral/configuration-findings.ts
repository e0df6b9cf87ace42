import type { ServerReading } from '../config/meshcentral/server-reading.ts'
import type { Problem } from '../config/problem.ts'
import type { DomainReading } from '../config/read.ts'
import { printableText } from '../log.ts'
import type { MeshServer } from './server.ts'

/** MeshCentral sends all of its warnings to every page of a site admin, each time it opens. */
const MOST_WARNINGS = 20

/**
 * Shows what is wrong with the configuration among MeshCentral's own warnings, where a site admin looks. The
 * authentication log has the same, but MeshCentral writes none by default.
 */
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
  const left = texts.length - MOST_WARNINGS
  if (left <= 0) return
  warnSiteAdmins(
    server,
    `Single sign-on: ${left} more of the configuration are in the authentication log (settings.authLog) and on the status page.`,
  )
}

/**
 * Writes what is wrong with the server's own settings into the authentication log; what is wrong with a domain is
 * written there anyway.
 */
export function logServerReading(server: Pick<MeshServer, 'authLog'>, { problems, warnings }: ServerReading): void {
  for (const problem of problems) {
    server.authLog('OIDC', `ERROR configuration-error: ${printableText(sentence(problem))}`)
  }
  for (const { code, ...warning } of warnings) {
    const fields = JSON.stringify({ path: warning.path, code })
    server.authLog('OIDC', `WARN configuration-warning: ${printableText(sentence(warning))} ${fields}`)
  }
}

/** What is wrong with the server's own settings, a sentence each. */
export function sentencesOf({ problems, warnings }: ServerReading): readonly string[] {
  return [...problems, ...warnings].map(sentence)
}

function sentence({ path, reason, remedy }: Problem): string {
  return `${path} ${reason}. ${remedy}`
}

/**
 * Adds a text to MeshCentral's warnings. MeshCentral writes them into its page as markup. The console has them too, so
 * quotation marks stay.
 */
export function warnSiteAdmins(server: Pick<MeshServer, 'addServerWarning'>, text: string): void {
  const harmless = printableText(text).replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`)
  server.addServerWarning?.(harmless)
}
