import { LoginError } from '../../errors.ts'
import type { UserId } from '../../host/port.ts'
import { printableText } from '../../log.ts'
import { userKey } from '../server.ts'

/** Replaces angle brackets, because MeshCentral's pages would execute markup in the text. */
export function withoutAngleBrackets(text: string): string {
  return text.replaceAll('<', '‹').replaceAll('>', '›')
}

/**
 * Makes a name safe for MeshCentral's pages, which execute markup. A user could choose a name that runs scripts in a
 * site admin's page. Some pages break at a percent sign without an escape.
 */
export function sanitizeName(name: string): string {
  return withoutAngleBrackets(printableText(name)).replaceAll('%', '％')
}

/**
 * Refuses an id that could run as a script in MeshCentral's reports. It is not cleaned, because the result could be
 * another user's id.
 *
 * @throws LoginError `subject_unusable`, even if the account exists
 */
export function requireSafeId(domainId: string, id: UserId): void {
  if (!/['"<>&\\`]/.test(id)) return
  const remedy =
    "Let `custom.claims.uuid` name a claim without ' \" < > & \\ and backticks, such as `sub`: in MeshCentral's pages, they could run as a script. An existing account with this id (`account`) cannot sign in: give its rights to the user's new account, then delete the old one."
  throw new LoginError('subject_unusable', { remedy, details: { account: userKey(domainId, id) } })
}
