import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import type { Finding } from '../problem.ts'

/**
 * Parameters that the protocol or this plugin sets, in lower case. A configured parameter with one of these names would
 * weaken security, or occur twice in the request. Source: RFC 6749, 7636, 9101, 9126, 9449; OpenID Connect Core 1.0,
 * section 3.1.2.1; JARM.
 */
const RESERVED = new Set([
  'client_id',
  'client_secret',
  'client_assertion',
  'client_assertion_type',
  'response_type',
  'response_mode',
  'redirect_uri',
  'scope',
  'state',
  'nonce',
  'code_challenge',
  'code_challenge_method',
  'request',
  'request_uri',
  'registration',
  'max_age',
  'claims',
  'id_token_hint',
  'login_hint',
  'dpop_jkt',
])

/** Reports reserved names in `custom.authorization_params`. */
export function checkAuthorizationParams(oidc: JsonObject): readonly Finding[] {
  const custom = isJsonObject(oidc.custom) ? oidc.custom : {}
  const parameters = isJsonObject(custom.authorization_params) ? custom.authorization_params : {}
  return Object.keys(parameters)
    .filter((name) => RESERVED.has(name.toLowerCase()))
    .map((name) => ({
      steps: ['custom', 'authorization_params', name],
      reason: 'is set by the protocol or by this server',
      remedy: 'Remove it. If its value can be chosen, it has a setting of its own.',
    }))
}
