import type { DomainSettings, GroupSettings } from '../../../config/settings.ts'
import { fail, groupsClaim, type KnownProvider, type Mistake, otherScopes, warn } from './known-provider.ts'

const SCOPES = ['openid', 'profile', 'email', 'offline_access']
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * Microsoft Entra External ID.
 *
 * @see https://learn.microsoft.com/entra/external-id/customers/how-to-use-app-roles-customers
 */
export const ENTRA_EXTERNAL_ID: KnownProvider = {
  name: 'Entra External ID',
  isAt: ({ issuer }) => issuer.hostname.endsWith('.ciamlogin.com'),
  mistakes: ({ issuer, settings }) => [
    !hasTenantId(issuer) &&
      fail(
        'The path of the issuer is the tenant id and the version. Write `https://<name>.ciamlogin.com/<tenant id>/v2.0` in `issuer`.',
      ),
    refusedScopes(settings),
    namesInsteadOfIds(settings),
    settings.groups !== null &&
      settings.issuer.manual.userinfo_endpoint !== false &&
      warn(
        'UserInfo has no roles or groups, and refuses tokens for an API. If a user changes `scope` in the address of the login page, the groups are unknown, so a former admin remains site admin. Set `issuer.userinfo_endpoint` to false: such a user then counts as a member of no group.',
      ),
  ],
}

function hasTenantId({ pathname }: URL): boolean {
  const [tenant = '', version] = pathname.split('/').filter((part) => part !== '')
  return ID.test(tenant) && version === 'v2.0'
}

function refusedScopes(settings: DomainSettings): Mistake | false {
  const refused = otherScopes(settings, SCOPES).filter((scope) => !/[:/.]/.test(scope))
  return (
    refused.length > 0 &&
    fail(
      `Microsoft has no scope ${refused.join(', ')}. Set \`groups.scope\` to "", because roles and groups come without a scope, and correct \`custom.scope\`.`,
    )
  )
}

function namesInsteadOfIds(settings: DomainSettings): Mistake | false {
  if (settings.groups === null || groupsClaim(settings) !== 'groups') return false
  const names = ruleNames(settings.groups).filter((name) => !ID.test(name))
  return (
    names.length > 0 &&
    warn(
      'The claim `groups` has object ids, so no rule with a name matches. Create app roles and set `groups.claim` to "roles", or write object ids into the rules.',
    )
  )
}

function ruleNames({ required, siteadmin, rights }: GroupSettings): readonly string[] {
  return [...(required ?? []), ...(siteadmin ?? []), ...(rights ?? []).map(({ group }) => group)]
}
