import type { DomainSettings } from '../../config/settings.ts'
import { publishedKeys } from '../../provider/authentication/published-keys.ts'

/** Addresses that an administrator enters at the IdP. The IdP compares them character by character. */
export interface IdpAddresses {
  readonly redirect: string
  /**
   * The address to which the IdP redirects after a logout. Null if the plugin sends no such address. Then the
   * administrator need not register one.
   */
  readonly postLogout: string | null
  readonly backchannelLogout: string
  readonly frontchannelLogout: string
  /** The address of this client's public keys. Null if it has no keys to publish. */
  readonly keySet: string | null
}

/** Paths that an IdP or the pages of an IdP request. */
export interface RoutesForIdp {
  readonly backchannelLogout: string
  readonly frontchannelLogout: string
  readonly jwks: string
}

/** Returns the addresses of a domain that the administrator enters at the IdP. */
export function idpAddresses(settings: DomainSettings, routes: RoutesForIdp): IdpAddresses {
  const { client, origin } = settings
  return {
    redirect: client.redirect_uri,
    postLogout: client.post_logout_redirect_uri,
    backchannelLogout: origin + routes.backchannelLogout,
    frontchannelLogout: origin + routes.frontchannelLogout,
    keySet: publishedKeys(settings).length > 0 ? origin + routes.jwks : null,
  }
}
