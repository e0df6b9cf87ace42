import type { DomainSettings } from '../../../config/settings.ts'
import { fail, type KnownProvider, type Mistake, otherScopes, warn } from './known-provider.ts'

const ISSUER_HOST = /^oauth\.id\.(?:(?:eu|in)\.)?jumpcloud\.com$/
const SCOPES = ['openid', 'profile', 'email', 'offline_access']

/**
 * JumpCloud, which has one issuer for each region.
 *
 * @see https://jumpcloud.com/support/oidc-attributes-claims
 */
export const JUMPCLOUD: KnownProvider = {
  name: 'JumpCloud',
  isAt: ({ issuer }) => issuer.hostname.endsWith('.jumpcloud.com'),
  mistakes: ({ issuer, settings }) => [otherAddress(issuer), unknownScopes(settings), lostOnSignOut(settings)],
}

function otherAddress({ hostname, pathname }: URL): Mistake | false {
  const isIssuer = ISSUER_HOST.test(hostname) && pathname === '/'
  return (
    !isIssuer &&
    fail(
      'All applications of a region have one issuer. Write "https://oauth.id.jumpcloud.com/" in `issuer` (Europe: "https://oauth.id.eu.jumpcloud.com/", India: "https://oauth.id.in.jumpcloud.com/").',
    )
  )
}

function unknownScopes(settings: DomainSettings): Mistake | false {
  const unknown = otherScopes(settings, SCOPES)
  const advice = unknown.includes('groups')
    ? 'Set `groups.scope` to "", because groups come without a scope.'
    : 'Remove them from `custom.scope`.'
  return (
    unknown.length > 0 &&
    warn(
      `JumpCloud's documents do not list these scopes, and logins with them may fail: ${unknown.join(' ')}. ${advice}`,
    )
  )
}

function lostOnSignOut({ client, logoutUrl }: DomainSettings): Mistake | false {
  const { post_logout_redirect_uri: returnAddress } = client
  return (
    logoutUrl === null &&
    returnAddress !== null &&
    warn(
      `Unless the application at JumpCloud lists ${returnAddress} as an address after sign-out, sign-outs end on an error of JumpCloud. If the application has no such field, set \`logouturl\` to "${returnAddress}".`,
    )
  )
}
