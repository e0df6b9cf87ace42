import { LoginError } from '../../errors.ts'
import type { UserId } from '../../host/port.ts'
import { printableText } from '../../log.ts'
import { userKey } from '../server.ts'

/** MeshCentral's pages take markup in it for their own. */
export function withoutAngleBrackets(text: string): string {
  return text.replaceAll('<', '‹').replaceAll('>', '›')
}

/**
 * The name of a person or a group as MeshCentral's pages can show it: they take markup in it for their own, and undo
 * percent signs, where one that begins no escape breaks the page, such as that of a device group for those who manage
 * it. Whoever may choose names at the IdP would run scripts in a site admin's page otherwise.
 */
export function sanitizeName(name: string): string {
  return withoutAngleBrackets(printableText(name)).replaceAll('%', '％')
}

/**
 * Refuses an id that would run as script in a site admin's page. MeshCentral's reports write ids into their markup as
 * they are. An id with other characters in their place could be that of somebody else.
 *
 * @throws LoginError `subject_unusable`, for a new account and for one that is there already
 */
export function requireSafeId(domainId: string, id: UserId): void {
  if (!/['"<>&\\`]/.test(id)) return
  const remedy =
    "Let `custom.claims.uuid` name a claim without ' \" < > & \\ and backticks, such as `sub`: MeshCentral writes ids into its pages, where this one could run as script. If an account has this id, it cannot sign in: give its rights to the user's new account, then delete it."
  throw new LoginError('subject_unusable', { remedy, details: { account: userKey(domainId, id) } })
}
