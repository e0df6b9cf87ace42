import type { DomainSettings } from '../../../config/settings.ts'
import { fail, groupsClaim, type KnownProvider, type Mistake, warn } from './known-provider.ts'

/**
 * OneLogin.
 *
 * @see https://developers.onelogin.com/openid-connect/api/provider-config
 */
export const ONELOGIN: KnownProvider = {
  name: 'OneLogin',
  isAt: ({ issuer }) => issuer.hostname.endsWith('.onelogin.com'),
  mistakes: ({ issuer, settings }) => [
    !/^\/oidc\/2\/?$/.test(issuer.pathname) &&
      fail(
        'The issuer is that of version 2, with your own subdomain. Write "https://<subdomain>.onelogin.com/oidc/2" in `issuer`.',
      ),
    settings.custom.scope.includes('offline_access') &&
      fail('OneLogin refuses logins with the scope `offline_access`. Remove it from `custom.scope`.'),
    missingScope(settings),
  ],
}

/**
 * Reports a missing scope. OneLogin sends the claims `groups` and `params` only if the scope with the same name is
 * requested.
 */
function missingScope(settings: DomainSettings): Mistake | false {
  const [claim] = groupsClaim(settings)?.split('.') ?? []
  const isMissing = (claim === 'groups' || claim === 'params') && !settings.custom.scope.includes(claim)
  return (
    isMissing &&
    warn(
      `OneLogin sends the claim \`${claim}\` only with the scope \`${claim}\`, so no user is in a group. Set \`groups.scope\` to "${claim}".`,
    )
  )
}
