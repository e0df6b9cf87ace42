import { soleMember } from '../domains/find-domains.ts'
import { isJsonObject, type JsonObject, membersOf } from '../json/json-object.ts'
import { jsonPath, quoted } from '../json/json-path.ts'
import { spellingsOf } from '../json/member-name.ts'
import { editDistance } from '../json/nearest-name.ts'
import type { Problem } from '../problem.ts'
import { isComment } from './host-members.ts'
import { domainsOf } from './server-reading.ts'

/** The names of all login strategies in MeshCentral. */
export const STRATEGIES = ['twitter', 'google', 'github', 'azure', 'jumpcloud', 'saml', 'intel', 'oidc'] as const

/** Other names that administrators use for OpenID Connect. */
const OPENID_CONNECT = ['openid', 'openidconnect', 'openid-connect', 'openid_connect', 'oauth2', 'oauth', 'sso']

/**
 * Reports likely misspellings that MeshCentral ignores: domain keys that probably mean the default domain, and strategy
 * names that probably mean `oidc`.
 */
export function checkLikelyTypos(config: JsonObject): readonly Problem[] {
  const domains = domainsOf(config)
  const hasDefault = domains.some(({ key, domain }) => key === '' && hasOidc(domain))
  const defaults = membersOf(soleMember(config, 'domaindefaults', []).value)
  return [
    ...(hasDefault ? [] : domains.filter(({ key }) => resemblesDefault(key)).map(({ key }) => domainProblem(key))),
    ...domains.flatMap(({ key, domain }) => strategyProblems(domain, ['domains', key])),
    ...strategyProblems(defaults, ['domaindefaults']),
  ]
}

function hasOidc(domain: JsonObject): boolean {
  const { value } = soleMember(domain, 'authStrategies', [])
  return isJsonObject(value) && spellingsOf(value, 'oidc').length > 0
}

function resemblesDefault(key: string): boolean {
  const bare = key.toLowerCase().replace(/[\s"'`*/]/g, '')
  return key !== '' && (bare === '' || (bare.length > 4 && editDistance(bare, 'default') < 2))
}

function domainProblem(key: string): Problem {
  return {
    path: jsonPath(['domains', key]),
    reason: `is a separate domain below the path /${key.toLowerCase()}/`,
    remedy: `For the default domain, write "" instead of ${quoted(key)}.`,
  }
}

function strategyProblems(domain: JsonObject, steps: readonly string[]): readonly Problem[] {
  const { value } = soleMember(domain, 'authStrategies', [])
  if (!isJsonObject(value)) return []
  return Object.keys(value)
    .filter((name) => value[name] !== undefined && resemblesOidc(name))
    .map((name) => ({
      path: jsonPath([...steps, 'authStrategies', name]),
      reason: 'is not a strategy, and is ignored',
      remedy: `Write "oidc" instead of ${quoted(name)}.`,
    }))
}

/** Whether a name in `authStrategies` is probably a misspelling of `oidc`. */
export function resemblesOidc(name: string): boolean {
  const lowered = name.toLowerCase()
  if (isComment(name) || STRATEGIES.some((strategy) => strategy === lowered)) return false
  return OPENID_CONNECT.includes(lowered) || (lowered.length <= 6 && editDistance(lowered, 'oidc') < 2)
}
