import { soleMember } from '../domains/find-domains.ts'
import { ROUTE_NAMES } from '../domains/route-names.ts'
import { isJsonObject, type JsonObject, membersOf } from '../json/json-object.ts'
import { jsonPath } from '../json/json-path.ts'
import { canonicalName } from '../json/member-name.ts'
import type { Problem, Warning } from '../problem.ts'
import { isComment } from './host-members.ts'
import { isMeantAsOidc, STRATEGIES } from './likely-typos.ts'
import { domainsOf, type ServerReading } from './server-reading.ts'

/** Settings in places where MeshCentral does not read them, or where they do something else than their writer meant. */
export function checkMisplaced(config: JsonObject): ServerReading {
  const domains = domainsOf(config)
  const defaults = membersOf(soleMember(config, 'domaindefaults', []).value)
  const places: readonly Place[] = [
    ...domains.map(({ key, domain }) => ({ at: ['domains', key], domain, basePath: basePathOf(key, domain) })),
    { at: ['domaindefaults'], domain: defaults, basePath: '/' },
  ]
  return {
    problems: strategiesBesideDomains(config),
    warnings: [...places.flatMap(insideStrategies), ...places.flatMap(redirectToCallback), ...commentedOut(places)],
  }
}

interface Place {
  readonly at: readonly string[]
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
      reason: 'stands directly below domains, and is taken for a domain of that name',
      remedy:
        'Put it into a domain. The key of the default domain is "": "domains": { "": { "authStrategies": { … } } }.',
    }))
}

/** What is neither a strategy nor a misspelt one is probably a setting of the domain. */
function insideStrategies({ domain, at }: Place): readonly Warning[] {
  const { value } = soleMember(domain, 'authStrategies', [])
  if (!isJsonObject(value)) return []
  return Object.keys(value)
    .filter((name) => value[name] !== undefined && !isComment(name) && !isMeantAsOidc(name))
    .filter((name) => canonicalName(name, [...STRATEGIES, 'authStrategyFlags']) === undefined)
    .map((name) => ({
      code: 'misplaced',
      path: jsonPath([...at, 'authStrategies', name]),
      reason: 'is no strategy, and is ignored there',
      remedy: `If it is a setting of the domain, move it to ${jsonPath([...at, name])}, beside authStrategies.`,
    }))
}

/** A browser without an answer of the IdP finds nothing at the callback: it is the login that begins at `auth-oidc`. */
function redirectToCallback({ domain, at, basePath }: Place): readonly Warning[] {
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
      path: jsonPath([...at, name]),
      reason: 'is the callback, where browsers come back from the IdP: everyone who is signed out gets 404',
      remedy: `Write "${basePath}${ROUTE_NAMES.authorize}", where a login begins.`,
    },
  ]
}

const BASE = 'https://this.server.invalid/'

/** A comment where the administrator probably meant the setting, since there is no other. */
function commentedOut(places: readonly Place[]): readonly Warning[] {
  if (places.some(({ domain }) => isJsonObject(soleMember(domain, 'authStrategies', []).value))) return []
  return places.flatMap(({ at, domain }) => {
    const name = Object.keys(domain).find((one) => canonicalName(one, ['_authStrategies']) !== undefined)
    if (name === undefined) return []
    return [
      {
        code: 'misplaced',
        path: jsonPath([...at, name]),
        reason: 'is a comment for MeshCentral, and no domain has authStrategies',
        remedy: 'To switch single sign-on on, remove the underscore.',
      },
    ]
  })
}
