import { soleMember } from '../domains/find-domains.ts'
import { ROUTE_NAMES } from '../domains/route-names.ts'
import { isJsonObject, type JsonObject, membersOf } from '../json/json-object.ts'
import { jsonPath } from '../json/json-path.ts'
import { canonicalName } from '../json/member-name.ts'
import type { Problem, Warning } from '../problem.ts'
import { isComment } from './host-members.ts'
import { resemblesOidc, STRATEGIES } from './likely-typos.ts'
import { domainsOf, type ServerReading } from './server-reading.ts'

/** Reports settings in places where MeshCentral ignores them or interprets them in an unexpected way. */
export function checkMisplaced(config: JsonObject): ServerReading {
  const domains = domainsOf(config)
  const defaults = membersOf(soleMember(config, 'domaindefaults', []).value)
  const places: readonly Place[] = [
    ...domains.map(({ key, domain }) => ({ steps: ['domains', key], domain, basePath: basePathOf(key, domain) })),
    { steps: ['domaindefaults'], domain: defaults, basePath: '/' },
  ]
  return {
    problems: strategiesBesideDomains(config),
    warnings: [...places.flatMap(insideStrategies), ...places.flatMap(redirectToCallback), ...commentedOut(places)],
  }
}

interface Place {
  readonly steps: readonly string[]
  readonly domain: JsonObject
  readonly basePath: string
}

function basePathOf(key: string, domain: JsonObject): string {
  const { value: dns } = soleMember(domain, 'dns', [])
  return key === '' || (dns !== undefined && dns !== null) ? '/' : `/${key.toLowerCase()}/`
}

function strategiesBesideDomains(config: JsonObject): readonly Problem[] {
  return domainsOf(config)
    .filter(({ key }) => canonicalName(key, ['authStrategies']) !== undefined)
    .map(({ key }) => ({
      path: jsonPath(['domains', key]),
      reason: 'is directly below domains, so it counts as a domain with that name',
      remedy:
        'Move it into a domain. The key of the default domain is "": "domains": { "": { "authStrategies": { … } } }.',
    }))
}

/**
 * Reports names inside `authStrategies` that are neither a strategy nor a misspelling of one. They are probably
 * settings of the domain.
 */
function insideStrategies({ domain, steps }: Place): readonly Warning[] {
  const { value } = soleMember(domain, 'authStrategies', [])
  if (!isJsonObject(value)) return []
  return Object.keys(value)
    .filter((name) => value[name] !== undefined && !isComment(name) && !resemblesOidc(name))
    .filter((name) => canonicalName(name, [...STRATEGIES, 'authStrategyFlags']) === undefined)
    .map((name) => ({
      code: 'misplaced',
      path: jsonPath([...steps, 'authStrategies', name]),
      reason: 'is not a strategy, and is ignored there',
      remedy: `If it is a setting of the domain, move it to ${jsonPath([...steps, name])}, beside authStrategies.`,
    }))
}

/** Warns about an `unknownUserRootRedirect` to the callback address, because browsers get 404 there without a login. */
function redirectToCallback({ domain, steps, basePath }: Place): readonly Warning[] {
  const name = 'unknownUserRootRedirect'
  const { value } = soleMember(domain, name, [])
  if (typeof value !== 'string' || !URL.canParse(value, BASE)) return []
  const url = new URL(value, BASE)
  const { value: strategies } = soleMember(domain, 'authStrategies', [])
  const oidc = membersOf(soleMember(membersOf(strategies), 'oidc', []).value)
  const client = membersOf(soleMember(oidc, 'client', []).value)
  const redirect = soleMember(client, 'redirect_uri', []).value ?? soleMember(oidc, 'callbackURL', []).value
  const isConfigured =
    typeof redirect === 'string' && URL.canParse(redirect) && new URL(redirect).pathname === url.pathname
  if (!isConfigured && !/\/auth-oidc(?:-[a-z0-9]+)?-callback\/?$/.test(url.pathname)) return []
  return [
    {
      code: 'misplaced',
      path: jsonPath([...steps, name]),
      reason:
        'leads to the callback address, which works only when a browser returns from the IdP: users without a session get 404',
      remedy: `Write "${basePath}${ROUTE_NAMES.authorize}", where logins begin.`,
    },
  ]
}

const BASE = 'https://this.server.invalid/'

/**
 * Reports `_authStrategies`, which MeshCentral treats as a comment. Reports it only if no domain has the setting
 * without the underscore.
 */
function commentedOut(places: readonly Place[]): readonly Warning[] {
  if (places.some(({ domain }) => isJsonObject(soleMember(domain, 'authStrategies', []).value))) return []
  return places.flatMap(({ steps, domain }) => {
    const name = Object.keys(domain).find((member) => canonicalName(member, ['_authStrategies']) !== undefined)
    if (name === undefined) return []
    return [
      {
        code: 'misplaced',
        path: jsonPath([...steps, name]),
        reason: 'is a comment in MeshCentral, and no domain has authStrategies',
        remedy: 'To enable single sign-on, remove the underscore.',
      },
    ]
  })
}
