import type { RealIdp } from '../../support/real-idp.ts'

const UNDECODED = 'it compares Basic credentials as they come, so that no encoding is understood'
const SAME_CLAIMS = 'it tells the same claims in the ID token and at the UserInfo endpoint'
const PLAIN_USERINFO = 'its UserInfo is JSON unless the request asks otherwise'

/** Each tried. */
export const CANNOT: RealIdp['cannot'] = {
  signed_eddsa: 'its at_hash beside EdDSA is made with another hash than SHA-512',
  signed_hs256: 'it signs with keys of the plugin, never with the client secret',
  max_age: 'auth_time is 0 in its ID tokens, so that each login counts as too old',
  introspection_disabled: 'tokens of somebody who is disabled stay good',
  secret_blanks: UNDECODED,
  secret_signs: UNDECODED,
  secret_letters: UNDECODED,
  userinfo_only: SAME_CLAIMS,
  id_token_only: SAME_CLAIMS,
  signed_userinfo: PLAIN_USERINFO,
  encrypted_userinfo: PLAIN_USERINFO,
  cancelled: 'its login page has no way back',
}
