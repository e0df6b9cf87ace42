import type { DomainSettings } from '../../../config/settings.ts'
import { fail, type KnownProvider, type Mistake, otherScopes, warn } from './known-provider.ts'

/** The scopes of AD FS. Source: AD FS OpenID Connect/OAuth concepts, "Scopes". */
const SCOPES = [
  'openid',
  'profile',
  'email',
  'allatclaims',
  'aza',
  'logon_cert',
  'user_impersonation',
  'vpn_cert',
  'winhello_cert',
]

/**
 * Active Directory Federation Services.
 *
 * @see https://learn.microsoft.com/windows-server/identity/ad-fs/development/ad-fs-openid-connect-oauth-concepts
 */
export const AD_FS: KnownProvider = {
  name: 'AD FS',
  isAt: ({ issuer }) => /^\/adfs(?:\/|$)/i.test(issuer.pathname),
  mistakes: ({ issuer, settings }) => [
    /\/services\/trust/i.test(issuer.pathname) &&
      fail(`This is the issuer of access tokens. Write \`https://${issuer.host}/adfs\` in \`issuer\`.`),
    refusedScopes(settings),
    lostClaims(settings),
    settings.groups !== null &&
      settings.issuer.manual.userinfo_endpoint !== false &&
      warn(
        'UserInfo never has groups, and refuses the tokens of a Web API. If a user changes `resource` in the address of the login page, the groups are unknown, so a former admin remains site admin. Set `issuer.userinfo_endpoint` to false: such a user then counts as a member of no group.',
      ),
  ],
}

function refusedScopes(settings: DomainSettings): Mistake | false {
  const refused = otherScopes(settings, SCOPES).filter((scope) => !namesResource(scope))
  const advice = refused.includes('groups')
    ? 'Set `groups.scope` to "", because groups come with `allatclaims`.'
    : 'Remove them from `custom.scope`.'
  return refused.length > 0 && fail(`AD FS has no scope ${refused.join(', ')}, and refuses logins with it. ${advice}`)
}

/** Whether a scope contains the identifier of a Web API. The identifier is a URI, so the scope contains `/` or `:`. */
function namesResource(scope: string): boolean {
  return /[/:]/.test(scope)
}

/** Reports missing settings without which AD FS omits the groups from the ID token. */
function lostClaims({ client, custom, groups }: DomainSettings): Mistake | false {
  if (groups === null) return false
  const missing = [
    ...(client.response_mode === 'form_post' ? [] : ['`client.response_mode` "form_post"']),
    ...(custom.scope.some((scope) => /(?:^|\/)allatclaims$/.test(scope)) ? [] : ['`allatclaims` in `custom.scope`']),
    ...('resource' in custom.authorizationParams || custom.scope.some(namesResource)
      ? []
      : ['`resource` in `custom.authorization_params`, with the identifier of the Web API']),
  ]
  return missing.length > 0 && warn(`The ID token has no groups. To receive them, configure: ${missing.join('; ')}.`)
}
