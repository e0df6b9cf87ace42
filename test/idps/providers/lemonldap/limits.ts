import type { RealIdp } from '../../support/real-idp.ts'

const NO_PUSH = 'it has no endpoint for pushed requests'
const NO_JARM = 'it has no response mode that ends in jwt'
const NO_CERTIFICATES = 'it knows no certificates of clients'
const UNDECODED = 'it compares Basic credentials as they come, so that no encoding is understood'
const NO_ENCRYPTION = 'it takes the settings, and sends the token unencrypted'

/** Each tried, or looked for in vain in its discovery document. */
export const CANNOT: RealIdp['cannot'] = {
  authorization_params:
    'prompt=login asks nobody again within seconds of a login, and with that time taken away it never ends asking',
  secret_blanks: UNDECODED,
  secret_signs: UNDECODED,
  secret_letters: UNDECODED,
  signed_eddsa: 'the portal has RSA and EC keys, and publishes no other',
  encrypted_rsa_oaep: NO_ENCRYPTION,
  encrypted_rsa_oaep_256: NO_ENCRYPTION,
  encrypted_ecdh_es: NO_ENCRYPTION,
  encrypted_userinfo: NO_ENCRYPTION,
  tls_client_auth: NO_CERTIFICATES,
  self_signed_tls_client_auth: NO_CERTIFICATES,
  id_token_only: 'its UserInfo endpoint has all that the ID token has',
  jarm_query: NO_JARM,
  jarm_form_post: NO_JARM,
  pushed: NO_PUSH,
  pushed_request_object: NO_PUSH,
  dpop: 'it knows no DPoP',
  introspection_disabled: 'sessions of somebody who is taken out of its database go on',
  revocation: 'it has no revocation endpoint',
  cancelled: 'its login page has no way back; its consent page has one, which is tried beside the matrix',
}
