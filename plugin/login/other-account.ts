import { LoginError } from '../errors.ts'
import type { Accounts, AuthLogEntry, UserId } from '../host/port.ts'

/**
 * Finds the account under `sub` of a user whose configured id has no account. MeshCentral's built-in strategy made it
 * there: it used `sub` where UserInfo lacked the claim of `custom.claims.uuid`, such as `oid` and `upn` of Entra ID,
 * which only the ID token has.
 *
 * @returns undefined if the configured id has an account, or neither has one
 */
export async function accountUnderSubject(
  id: UserId,
  subject: string,
  domainKey: string,
  accounts: Pick<Accounts, 'find'>,
): Promise<UserId | undefined> {
  const other: UserId = `~oidc:${subject}`
  if (other === id || (await accounts.find(domainKey, id))) return undefined
  return (await accounts.find(domainKey, other)) ? other : undefined
}

/**
 * Warns of such an account. For the log and the administrator's page only: a browser must not learn which accounts
 * exist.
 */
export function otherAccountWarning(domain: string, user: UserId, otherAccount: UserId): AuthLogEntry {
  return { level: 'warn', event: 'account-under-other-id', message: OTHER_ID, domain, fields: { user, otherAccount } }
}

/** The same mend for a user who is refused, instead of creating a second account. */
export function withOtherAccount(error: unknown, otherAccount: UserId | undefined): unknown {
  if (!(error instanceof LoginError) || error.code !== 'account_unknown' || otherAccount === undefined) return error
  return new LoginError('account_unknown', { details: { ...error.details, otherAccount }, remedy: OTHER_ID })
}

const OTHER_ID =
  'The id of this user (`user`) has no account, but `sub` has one (`otherAccount`): the built-in strategy used `sub` where UserInfo lacked the claim of `custom.claims.uuid`. To keep that account, write `"uuid": "sub"` into `custom.claims`.'
