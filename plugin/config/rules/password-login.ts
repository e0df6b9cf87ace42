import { isJsonObject, type JsonObject, membersOf } from '../json/json-object.ts'
import type { Finding } from '../problem.ts'

/**
 * Warns about a `custom.password_login` without effect, or that may leave the server without an administrator.
 *
 * @param isEnforced whether the host can refuse passwords. Only MeshCentral with this plugin can
 */
export function checkPasswordLogin({ custom, groups }: JsonObject, isEnforced: boolean): readonly Finding[] {
  const { password_login: allowed } = membersOf(custom)
  if (allowed === undefined || allowed === true) return []
  const steps = ['custom', 'password_login']
  if (!isEnforced) {
    const reason = 'has no effect on this server, which has its own login with passwords'
    return [{ warning: 'no_effect', steps, reason, remedy: "Turn passwords off in the server's own settings." }]
  }
  const namesAccounts = Array.isArray(allowed) && allowed.length > 0
  if (namesAccounts || (isJsonObject(groups) && groups.siteadmin !== undefined)) return []
  const reason = 'allows no login with a password, and without `groups.siteadmin` no login makes a user site admin'
  const remedy =
    'Set `groups.siteadmin`, or make sure that an account of single sign-on is a site admin. Or name an account that may use its password in emergencies: "password_login": ["admin"].'
  return [{ warning: 'no_way_for_admins', steps, reason, remedy }]
}
