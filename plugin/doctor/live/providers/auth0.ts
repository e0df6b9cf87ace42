import type { DomainSettings } from '../../../config/settings.ts'
import { type AskedProvider, groupsClaim, type KnownProvider, type Mistake, warn } from './known-provider.ts'

/**
 * An Auth0 tenant. It may have a custom domain.
 *
 * @see https://auth0.com/docs/get-started/applications/configure-applications-with-oidc-discovery
 */
export const AUTH0: KnownProvider = {
  name: 'Auth0',
  isAt: ({ issuer, metadata }) =>
    issuer.hostname.endsWith('.auth0.com') || metadata?.mfa_challenge_endpoint !== undefined,
  mistakes: ({ issuer, metadata, settings }) => [
    groupsClaim(settings) === 'groups' &&
      warn(
        'Auth0 reserves the claim `groups`, so an Action cannot set it. Set a claim such as `https://<your host>/groups` in an Action, and write that name in `groups.claim`.',
      ),
    missingLogout({ issuer, metadata, settings }),
    incompleteLogout(settings),
  ],
}

function missingLogout({ issuer, metadata, settings }: AskedProvider): Mistake | false {
  const { client, logoutUrl } = settings
  if (metadata === undefined || metadata.end_session_endpoint !== undefined || logoutUrl !== null) return false
  const returnTo = encodeURIComponent(client.post_logout_redirect_uri ?? '')
  const address = `${issuer.origin}/v2/logout?client_id=${encodeURIComponent(client.client_id)}&returnTo=${returnTo}`
  return warn(
    `The tenant publishes no logout, so users stay signed in at Auth0. Turn on "RP-Initiated Logout End Session Endpoint Discovery" (Settings > Advanced), or set \`logouturl\` to "${address}".`,
  )
}

function incompleteLogout({ logoutUrl, client }: DomainSettings): Mistake | false {
  if (logoutUrl === null || !logoutUrl.includes('/v2/logout')) return false
  const { searchParams } = new URL(logoutUrl)
  const isComplete = searchParams.get('client_id') === client.client_id && searchParams.has('returnTo')
  return (
    !isComplete &&
    warn(
      "`logouturl` lacks this client's `client_id` or `returnTo`, so a sign-out does not return to this server. Add both.",
    )
  )
}
