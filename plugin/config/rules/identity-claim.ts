import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import type { Finding } from '../problem.ts'

/** Names of claims that contain an e-mail address. The configured e-mail claim is checked as well. */
const ADDRESSES: readonly string[] = ['email', 'mail', 'emails']
/** Names of claims that contain a user name, which the IdP may later give to another user. */
const NAMES: readonly string[] = [
  'name',
  'preferred_username',
  'upn',
  'unique_name',
  'username',
  'user_name',
  'login',
  'nickname',
  'samaccountname',
  'given_name',
  'family_name',
]

/**
 * Warns if another claim than `sub` identifies users. With an address or a name, a later user may get the account
 * (OpenID Connect Core 1.0, section 5.7). Other claims may not match accounts of the built-in strategy.
 */
export function checkIdentityClaim({ custom }: JsonObject): readonly Finding[] {
  const claims = isJsonObject(custom) ? custom.claims : undefined
  const { uuid, email = 'email' } = isJsonObject(claims) ? claims : {}
  if (typeof uuid !== 'string' || uuid === 'sub') return []
  const steps = ['custom', 'claims', 'uuid']
  if (uuid === email || ADDRESSES.includes(lastName(uuid))) {
    const reason = 'is the claim with the e-mail address, which may later belong to another user'
    // `profileOf` refuses unverified users under the same condition.
    const refusesUnverified = uuid === 'email' || uuid === email
    const refusal = refusesUnverified ? ' If you keep it, users whose `email_verified` is false are refused.' : ''
    const remedy = `Remove it to use \`sub\`, unless existing accounts are identified by this address.${refusal}`
    return [{ warning: 'changing_id', steps, reason, remedy }]
  }
  if (NAMES.includes(lastName(uuid))) {
    const reason = 'is a name, and a name may later belong to another user'
    const remedy = `Remove it to use \`sub\`, unless existing accounts are identified by this claim. ${BUILT_IN}`
    return [{ warning: 'changing_id', steps, reason, remedy }]
  }
  const reason = "is not `sub`, but MeshCentral's built-in strategy may have created accounts with `sub` as their id"
  return [{ warning: 'other_id', steps, reason, remedy: BUILT_IN }]
}

const BUILT_IN =
  'MeshCentral\'s built-in strategy used `sub` if UserInfo lacked this claim. If existing accounts have `sub` as their id, write "uuid": "sub". When such a user signs in, the authentication log names the account (`account-under-other-id`).'

/** Returns the last step of a claim path that is not a number: `upn` for `person.upn`, and `mail` for `mail.0`. */
function lastName(path: string): string {
  const steps = path.toLowerCase().split('.')
  return steps.findLast((step) => !/^\d+$/.test(step)) ?? path
}
