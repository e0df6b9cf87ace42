import type { DomainSettings } from '../../../config/settings.ts'
import { fail, groupsClaim, type KnownProvider, type Mistake, otherScopes, warn } from './known-provider.ts'

/**
 * Azure AD B2C. A tenant may have a custom domain.
 *
 * @see https://learn.microsoft.com/azure/active-directory-b2c/openid-connect
 */
export const AZURE_AD_B2C: KnownProvider = {
  name: 'Azure AD B2C',
  isAt: ({ issuer }) => issuer.hostname.endsWith('.b2clogin.com') || hasPolicy(issuer),
  mistakes: ({ issuer, settings }) => [
    !hasPolicy(issuer) &&
      fail(
        'The issuer lacks the user flow. Write `https://<name>.b2clogin.com/<name>.onmicrosoft.com/<user flow>/v2.0` in `issuer`.',
      ),
    refusedScopes(settings),
    settings.custom.claims.email === 'email' &&
      warn('E-mail addresses are an array. Set `custom.claims.email` to "emails.0".'),
    ['groups', 'roles'].includes(groupsClaim(settings) ?? '') &&
      warn(
        'No user flow sends groups or roles. Create a custom attribute, and set `groups.claim` to "extension_<attribute>".',
      ),
    droppedRefreshToken(settings),
  ],
}

/** Whether the path contains the name of a user flow or custom policy. These names begin with `B2C_1`. */
function hasPolicy({ pathname }: URL): boolean {
  return /\/b2c_1/i.test(pathname)
}

function refusedScopes(settings: DomainSettings): Mistake | false {
  const { client_id: clientId } = settings.client
  const refused = otherScopes(settings, ['openid', 'offline_access', clientId]).filter((scope) => !scope.includes('/'))
  return (
    refused.length > 0 &&
    fail(
      `Azure AD B2C does not support the scope ${refused.join(', ')} (AADB2C90012). Set \`custom.scope\` to "openid offline_access ${clientId}", and \`groups.scope\` to "".`,
    )
  )
}

function droppedRefreshToken({ client, custom }: DomainSettings): Mistake | false {
  const hasApi = custom.scope.some((scope) => scope === client.client_id || scope.includes('/'))
  return (
    custom.scope.includes('offline_access') &&
    !hasApi &&
    warn(
      `Without the client id among the scopes, Azure AD B2C gives no access token, and sessions cannot be renewed. Set \`custom.scope\` to "openid offline_access ${client.client_id}".`,
    )
  )
}
