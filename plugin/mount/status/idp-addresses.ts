import type { DomainSettings } from '../../config/settings.ts'
import { publishedKeys } from '../../provider/authentication/published-keys.ts'

/** Addresses that an administrator enters at the IdP, character by character. */
export interface IdpAddresses {
  readonly redirect: string
  /** Null: the plugin sends none, so there is none to register. */
  readonly postLogout: string | null
  readonly backchannelLogout: string
  readonly frontchannelLogout: string
  /** Null: this client has no keys to publish. */
  readonly keySet: string | null
}

/** Paths that an IdP requests. */
export interface RoutesForIdp {
  readonly backchannelLogout: string
  readonly frontchannelLogout: string
  readonly jwks: string
}

/** Returns the addresses of a domain to enter at its IdP. */
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
