import type { DomainSettings } from '../../config/settings.ts'
import { publishedKeys } from '../../provider/authentication/published-keys.ts'

/** Addresses that an administrator enters at the IdP. They must match character by character. */
export interface IdpAddresses {
  readonly redirect: string
  /** Null if the plugin sends no post-logout redirect address, so that none needs to be registered. */
  readonly postLogout: string | null
  readonly backchannelLogout: string
  readonly frontchannelLogout: string
  /** Null if this client has no keys to publish. */
  readonly keySet: string | null
}

/** Paths that an IdP or its pages request. */
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
