import type { DomainSettings } from '../../config/settings.ts'
import { publishedKeys } from '../../provider/authentication/published-keys.ts'

/** What an administrator enters at the IdP, to the letter. */
export interface IdpAddresses {
  readonly redirect: string
  /** Null: none is sent, so none has to be registered. */
  readonly postLogout: string | null
  readonly backchannelLogout: string
  readonly frontchannelLogout: string
  /** Null: this client has no keys to publish. */
  readonly keySet: string | null
}

/** Paths that an IdP calls by itself. */
export interface RoutesForIdp {
  readonly backchannelLogout: string
  readonly frontchannelLogout: string
  readonly jwks: string
}

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
