import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import type { Finding } from '../problem.ts'

/**
 * Parameters that cannot be configured, because they would weaken security or occur twice. Maps each, in lower case, to
 * the setting that chooses it, or null. Source: RFC 6749, 7636, 9101, 9126, 9449; OpenID Connect Core 1.0, section
 * 3.1.2.1; JARM.
 */
const RESERVED: ReadonlyMap<string, string | null> = new Map([
  ['client_id', 'client.client_id'],
  ['client_secret', 'client.client_secret'],
  ['client_assertion', null],
  ['client_assertion_type', null],
  ['response_type', 'client.response_types'],
  ['response_mode', 'client.response_mode'],
  ['redirect_uri', 'client.redirect_uri'],
  ['scope', 'custom.scope'],
  ['state', null],
  ['nonce', null],
  ['code_challenge', null],
  ['code_challenge_method', null],
  ['request', null],
  ['request_uri', null],
  ['registration', null],
  ['max_age', 'client.default_max_age'],
  ['claims', null],
  ['id_token_hint', null],
  ['login_hint', null],
  ['dpop_jkt', null],
])

/** Reports reserved names in `custom.authorization_params`. */
export function checkAuthorizationParams(oidc: JsonObject): readonly Finding[] {
  const custom = isJsonObject(oidc.custom) ? oidc.custom : {}
  const parameters = isJsonObject(custom.authorization_params) ? custom.authorization_params : {}
  return Object.keys(parameters)
    .filter((name) => RESERVED.has(name.toLowerCase()))
    .map((name) => {
      const setting = RESERVED.get(name.toLowerCase())
      const reason = 'is set by the protocol or by this server'
      const remedy = setting ? `Remove it. To choose its value, set ${setting}.` : 'Remove it.'
      return { steps: ['custom', 'authorization_params', name], reason, remedy }
    })
}
