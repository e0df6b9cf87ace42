import { soleMember } from '../domains/find-domains.ts'
import { isJsonObject, membersOf } from '../json/json-object.ts'
import { quoted } from '../json/json-path.ts'
import { domainsOf } from './server-reading.ts'

const LIMIT = 'settings.plugins.meshcompanion.loginTokenDays'

/**
 * Returns the domains in which login tokens keep working, however long ago the user last signed in.
 *
 * @param withSingleSignOn keys of the domains with single sign-on
 */
export function domainsWithUnlimitedTokens(config: unknown, withSingleSignOn: readonly string[]): readonly string[] {
  if (!isJsonObject(config)) return []
  const member = (object: unknown, name: string) => soleMember(membersOf(object), name, []).value
  const settings = member(member(member(config, 'settings'), 'plugins'), 'meshcompanion')
  const days = member(settings, 'loginTokenDays')
  if (days !== undefined && days !== null) return []
  const defaults = member(member(config, 'domaindefaults'), 'passwordRequirements')
  return domainsOf(config).flatMap(({ key, domain }) => {
    const requirements = member(domain, 'passwordRequirements') ?? defaults
    return withSingleSignOn.includes(key) && member(requirements, 'loginTokens') !== false ? [key] : []
  })
}

/** Returns a note that login tokens have no time limit. It is no warning, because this may be deliberate. */
export function unlimitedTokensNote(domains: readonly string[]): string {
  const where = `${domains.length === 1 ? 'domain' : 'domains'} ${domains.map(quoted).join(', ')}`
  return `Login tokens of single sign-on accounts have no time limit in the ${where}: they keep working, however long ago the user last signed in. To limit them, set ${LIMIT} to a number of days. To forbid them, set passwordRequirements.loginTokens of the domain to false.`
}
