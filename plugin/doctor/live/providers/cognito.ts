import type { DomainSettings } from '../../../config/settings.ts'
import {
  fail,
  groupsClaim,
  type KnownProvider,
  type Metadata,
  type Mistake,
  otherScopes,
  publishedAddress,
  warn,
} from './known-provider.ts'

const ISSUER_HOST = /^cognito-idp(?:-fips)?\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?$/
const DOMAIN_HOST = /\.auth(?:-fips)?\.[a-z0-9-]+\.amazoncognito\.com$/
/** The scopes that every user pool has. Other scopes belong to a resource server, and their names contain a slash. */
const SCOPES = ['openid', 'profile', 'email', 'phone', 'aws.cognito.signin.user.admin']

/**
 * An Amazon Cognito user pool.
 *
 * @see https://docs.aws.amazon.com/cognito/latest/developerguide/federation-endpoints.html
 */
export const COGNITO: KnownProvider = {
  name: 'Amazon Cognito',
  isAt: ({ issuer }) => ISSUER_HOST.test(issuer.hostname) || DOMAIN_HOST.test(issuer.hostname),
  mistakes: ({ issuer, metadata, settings }) => [
    DOMAIN_HOST.test(issuer.hostname) &&
      fail(
        'The issuer is not the address of the login pages. Write `https://cognito-idp.<region>.amazonaws.com/<user pool id>` in `issuer`.',
      ),
    hasNoDomain(metadata) &&
      fail('The user pool has no domain, so it has no login page. Create a domain for it in the Cognito console.'),
    refusedScopes(settings),
    lostGroups(settings),
    wrongLogout(settings, metadata),
  ],
}

function hasNoDomain(metadata: Metadata | undefined): boolean {
  return ISSUER_HOST.test(publishedAddress(metadata, 'authorization_endpoint')?.hostname ?? '')
}

function refusedScopes(settings: DomainSettings): Mistake | false {
  const refused = otherScopes(settings, SCOPES).filter((scope) => !scope.includes('/'))
  const advice = [
    ...(refused.includes('groups') ? ['Set `groups.scope` to "", because groups come without a scope.'] : []),
    ...(refused.includes('offline_access') ? ['Remove `offline_access`: refresh tokens come without it.'] : []),
  ].join(' ')
  return (
    refused.length > 0 && fail(`Cognito refuses logins with unknown scopes (${refused.join(' ')}). ${advice}`.trim())
  )
}

function lostGroups(settings: DomainSettings): Mistake | false {
  const claim = groupsClaim(settings)
  return (
    (claim === 'groups' || claim === 'roles') &&
    warn(`Cognito has no claim \`${claim}\`, so no user is in a group. Set \`groups.claim\` to "cognito:groups".`)
  )
}

function wrongLogout({ logoutUrl, client }: DomainSettings, metadata: Metadata | undefined): Mistake | false {
  const domain = publishedAddress(metadata, 'authorization_endpoint')?.origin ?? 'https://<domain>'
  const returnTo = encodeURIComponent(client.post_logout_redirect_uri ?? '')
  const advice = `Set \`logouturl\` to "${domain}/logout?client_id=${encodeURIComponent(client.client_id)}&logout_uri=${returnTo}".`
  if (logoutUrl === null) {
    return warn(
      `Cognito's logout does not know the parameters of OpenID Connect, so sign-outs end on an error. ${advice}`,
    )
  }
  const { searchParams } = new URL(logoutUrl)
  const isComplete = searchParams.get('client_id') === client.client_id && searchParams.has('logout_uri')
  return !isComplete && warn(`\`logouturl\` lacks this client's \`client_id\` or \`logout_uri\`. ${advice}`)
}
