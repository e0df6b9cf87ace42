import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import type { Finding } from '../problem.ts'

/**
 * People who are known by their e-mail address: it is given to somebody else when they leave, and the account with it.
 * Source: OpenID Connect Core 1.0, section 5.7.
 */
export function checkIdentityClaim(oidc: JsonObject): readonly Finding[] {
  const custom = isJsonObject(oidc.custom) ? oidc.custom : {}
  const { uuid, email = 'email' } = isJsonObject(custom.claims) ? custom.claims : {}
  if (uuid === undefined || (uuid !== 'email' && uuid !== email)) return []
  return [
    {
      warning: 'changing_id',
      at: ['custom', 'claims', 'uuid'],
      reason: 'is the claim of the e-mail address, and addresses change hands',
      remedy:
        'Remove it, so that `sub` counts, unless accounts are known by address already. Whose address the IdP has not verified is refused.',
    },
  ]
}
