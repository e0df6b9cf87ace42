import { because, CERTIFICATES, ENCODED, ENCRYPTED, JARM } from '../../support/cases.ts'
import type { RealIdp } from '../../support/real-idp.ts'

/** Features that LemonLDAP::NG lacks. Each was tried, or its discovery document lacks it. */
export const CANNOT: RealIdp['cannot'] = {
  authorization_params:
    'prompt=login asks nobody again within seconds of a login, and with that time taken away it never ends asking',
  ...because('it compares Basic credentials as they come, so that no encoding is understood', ...ENCODED),
  signed_eddsa: 'the portal has RSA and EC keys, and publishes no other',
  ...because('it takes the settings, and sends the token unencrypted', ...ENCRYPTED),
  ...because('it knows no certificates of clients', ...CERTIFICATES),
  id_token_only: 'its UserInfo endpoint has all that the ID token has',
  ...because('it has no response mode that ends in jwt', ...JARM),
  ...because('it has no endpoint for pushed requests', 'pushed', 'pushed_request_object'),
  dpop: 'it knows no DPoP',
  introspection_disabled: 'sessions of a user who is removed from its database go on',
  revocation: 'it has no revocation endpoint',
  cancelled: 'its login page has no way back; its consent page has one, which is tested beyond the matrix',
}
