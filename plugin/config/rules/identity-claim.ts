import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import type { Finding } from '../problem.ts'

/** Claims that are an e-mail address, beside the configured one. */
const ADDRESSES: readonly string[] = ['email', 'mail', 'emails']
/** Claims that are a name, which the IdP may give to somebody else. */
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
 * Warns of a claim that should not identify people. An address or a name is given to somebody else when its owner
 * leaves, and the account with it (OpenID Connect Core 1.0, section 5.7). With any other claim but `sub`, MeshCentral's
 * built-in strategy may have made other accounts.
 */
export function checkIdentityClaim({ custom }: JsonObject): readonly Finding[] {
  const claims = isJsonObject(custom) ? custom.claims : undefined
  const { uuid, email = 'email' } = isJsonObject(claims) ? claims : {}
  if (typeof uuid !== 'string' || uuid === 'sub') return []
  const at = ['custom', 'claims', 'uuid']
  if (uuid === email || ADDRESSES.includes(nameOf(uuid))) {
    const reason = 'is the claim of the e-mail address, and addresses change hands'
    const remedy =
      'Remove it, so that `sub` counts, unless accounts are known by address already. Whose address the IdP has not verified is refused.'
    return [{ warning: 'changing_id', at, reason, remedy }]
  }
  if (NAMES.includes(nameOf(uuid))) {
    const reason = 'is a name, and names change hands'
    const remedy = `Remove it, so that \`sub\` counts, unless accounts are known by it already. ${BUILT_IN}`
    return [{ warning: 'changing_id', at, reason, remedy }]
  }
  const reason = "is not `sub`, by which the accounts of MeshCentral's built-in strategy may be known"
  return [{ warning: 'other_id', at, reason, remedy: BUILT_IN }]
}

const BUILT_IN =
  'The built-in strategy of MeshCentral used `sub` where UserInfo lacked this claim: if accounts are known by `sub`, write "uuid": "sub". The log says whom it concerns (`account-under-other-id`).'

/** The last step of a path, such as `upn` of `person.upn` and `mail` of `mail.0`. */
function nameOf(path: string): string {
  const steps = path.toLowerCase().split('.')
  return steps.findLast((step) => !/^\d+$/.test(step)) ?? path
}
