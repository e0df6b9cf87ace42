import { because, ENCODED } from '../../support/cases.ts'
import type { RealIdp } from '../../support/real-idp.ts'

/** Features that Glewlwyd lacks. Each was tried. */
export const CANNOT: RealIdp['cannot'] = {
  signed_eddsa: 'its at_hash beside EdDSA is made with another hash than SHA-512',
  signed_hs256: 'it signs with keys of the plugin, never with the client secret',
  max_age: 'auth_time is 0 in its ID tokens, so that each login counts as too old',
  introspection_disabled: 'tokens of a disabled user stay active',
  ...because('it compares Basic credentials as they come, so that no encoding is understood', ...ENCODED),
  ...because('it tells the same claims in the ID token and at the UserInfo endpoint', 'userinfo_only', 'id_token_only'),
  ...because('its UserInfo is JSON unless the request asks otherwise', 'signed_userinfo', 'encrypted_userinfo'),
  cancelled: 'its login page has no way back',
}
