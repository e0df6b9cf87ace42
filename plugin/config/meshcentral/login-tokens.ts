import { soleMember } from '../domains/find-domains.ts'
import { isJsonObject, membersOf } from '../json/json-object.ts'
import { quoted } from '../json/json-path.ts'
import { domainsOf } from './server-reading.ts'

const LIMIT = 'settings.plugins.meshcompanion.loginTokenDays'

/** Where MeshCentral's users can make login tokens that no last login limits, for accounts of single sign-on. */
export function domainsWithUnlimitedTokens(config: unknown, withSingleSignOn: readonly string[]): readonly string[] {
  if (!isJsonObject(config)) return []
  const member = (object: unknown, name: string) => soleMember(membersOf(object), name, []).value
  const own = member(member(member(config, 'settings'), 'plugins'), 'meshcompanion')
  const days = member(own, 'loginTokenDays')
  if (days !== undefined && days !== null) return []
  const defaults = member(member(config, 'domaindefaults'), 'passwordRequirements')
  return domainsOf(config).flatMap(({ key, domain }) => {
    const requirements = member(domain, 'passwordRequirements') ?? defaults
    return withSingleSignOn.includes(key) && member(requirements, 'loginTokens') !== false ? [key] : []
  })
}

/** One sentence on such domains for an administrator, who may want it so. */
export function unlimitedTokensNote(domains: readonly string[]): string {
  const where = domains.map(quoted).join(', ')
  return `Login tokens of single sign-on accounts have no limit in ${where}: they work however long ago the user last signed in. To limit them set ${LIMIT}, or passwordRequirements.loginTokens to false in the domain.`
}
