import { LoginError } from '../errors.ts'
import type { Accounts, AuthLogEntry, UserId } from '../host/port.ts'

/**
 * Finds an account under the user's `sub`, if there is none under the configured id. MeshCentral's built-in strategy
 * used `sub` if UserInfo lacked the configured claim, such as Entra ID's `oid` and `upn`.
 */
export async function accountUnderSubject(
  id: UserId,
  subject: string,
  domainKey: string,
  accounts: Pick<Accounts, 'find'>,
): Promise<UserId | undefined> {
  const subjectId: UserId = `~oidc:${subject}`
  if (subjectId === id || (await accounts.find(domainKey, id))) return undefined
  return (await accounts.find(domainKey, subjectId)) ? subjectId : undefined
}

/**
 * Returns the warning that the user has another account. Never show it to the user, because it reveals which accounts
 * exist.
 */
export function otherAccountWarning(domain: string, user: UserId, otherAccount: UserId): AuthLogEntry {
  return { level: 'warn', event: 'account-under-other-id', message: OTHER_ID, domain, fields: { user, otherAccount } }
}

/** Adds the user's other account and a remedy to the error `account_unknown`. Returns all other errors unchanged. */
export function withOtherAccount(error: unknown, otherAccount: UserId | undefined): unknown {
  if (!(error instanceof LoginError) || error.code !== 'account_unknown' || otherAccount === undefined) return error
  return new LoginError('account_unknown', { details: { ...error.details, otherAccount }, remedy: OTHER_ID })
}

const OTHER_ID =
  'No account has the id of this user (`user`), but one has the `sub` of this user as its id (`otherAccount`). The built-in strategy used `sub` if UserInfo lacked the claim of `custom.claims.uuid`. To keep that account, write `"uuid": "sub"` into `custom.claims`.'
