import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import type { Finding, Steps } from '../problem.ts'
import type { MemberSchema } from './schema/member-schema.ts'
import { ISSUER } from './schema/schema.ts'

export interface AddressRules {
  /**
   * Where plain HTTP is allowed: on loopback hosts only, or on any host. Traffic to other hosts could be read in the
   * network.
   */
  readonly plainHttp: 'loopback' | 'anywhere'
  readonly query: boolean
  readonly fragment: boolean
}

/** Rules for an issuer. It has neither a query nor a fragment. Source: OpenID Connect Discovery 1.0, section 3. */
export const ISSUER_RULES: AddressRules = { plainHttp: 'loopback', query: false, fragment: false }
/** Rules for endpoints and redirect addresses. They have no fragment. Source: RFC 6749, sections 3.1, 3.1.2 and 3.2. */
export const ENDPOINT_RULES: AddressRules = { plainHttp: 'loopback', query: true, fragment: false }
/** Rules for pages that receive no codes or tokens. Such a page may have any http or https address. */
export const PAGE_RULES: AddressRules = { plainHttp: 'anywhere', query: true, fragment: true }

/** Checks an address. Ignores values that are not strings, because another rule reports those. */
export function checkAddress(value: unknown, steps: Steps, rules: AddressRules): readonly Finding[] {
  if (typeof value !== 'string') return []
  const fault = addressFault(value, rules)
  return fault ? [{ steps, ...fault }] : []
}

function addressFault(text: string, rules: AddressRules): Pick<Finding, 'reason' | 'remedy'> | null {
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url?.hostname || !['https:', 'http:'].includes(url.protocol)) {
    return { reason: 'must be a complete https address', remedy: 'Write it with https:// and a host name.' }
  }
  if (url.protocol === 'http:' && rules.plainHttp === 'loopback' && !isLoopback(url)) {
    return {
      reason: 'must be https',
      remedy: 'Write an https address. Plain http is allowed for this machine only: localhost, 127.0.0.1 or [::1].',
    }
  }
  if (url.username !== '' || url.password !== '') {
    return { reason: 'must not contain a user name or password', remedy: 'Remove the part before the @.' }
  }
  if (!rules.fragment && text.includes('#')) {
    return { reason: 'must not have a fragment', remedy: 'Remove the # and everything after it.' }
  }
  if (!rules.query && text.includes('?')) {
    return { reason: 'must not have a query', remedy: 'Remove the ? and everything after it.' }
  }
  return null
}

function isLoopback({ hostname }: URL): boolean {
  // The URL parser has already normalized every notation of an IPv4 address.
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}

/** Checks all addresses in an `oidc` object. */
export function checkAddresses(oidc: JsonObject): readonly Finding[] {
  const issuer = isJsonObject(oidc.issuer) ? oidc.issuer : { issuer: oidc.issuer }
  const client = isJsonObject(oidc.client) ? oidc.client : {}
  const aliases = isJsonObject(issuer.mtls_endpoint_aliases) ? issuer.mtls_endpoint_aliases : {}
  return [
    ...checkAddress(issuer.issuer, isJsonObject(oidc.issuer) ? ['issuer', 'issuer'] : ['issuer'], ISSUER_RULES),
    ...ENDPOINTS.flatMap((name) => checkAddress(issuer[name], ['issuer', name], ENDPOINT_RULES)),
    ...ALIASES.flatMap((name) =>
      checkAddress(aliases[name], ['issuer', 'mtls_endpoint_aliases', name], ENDPOINT_RULES),
    ),
    ...checkAddress(client.redirect_uri, ['client', 'redirect_uri'], ENDPOINT_RULES),
    ...checkAddress(client.post_logout_redirect_uri, ['client', 'post_logout_redirect_uri'], PAGE_RULES),
    ...checkAddress(oidc.logouturl, ['logouturl'], PAGE_RULES),
  ]
}

const ENDPOINTS = addressesIn(ISSUER.properties).filter((name) => name !== 'issuer')
const ALIASES = addressesIn(ISSUER.properties?.mtls_endpoint_aliases?.properties)

function addressesIn(members: MemberSchema['properties'] = {}): readonly string[] {
  return Object.keys(members).filter((name) => members[name]?.format === 'uri')
}

const ICON_RULES: AddressRules = { plainHttp: 'anywhere', query: true, fragment: true }

/** Checks the icons of the login button. Each is an address or a path on this server. */
export function checkButton({ custom }: JsonObject): readonly Finding[] {
  return ['buttonIconUrl', 'buttonIconUrl2x'].flatMap((name) => {
    const icon = isJsonObject(custom) ? custom[name] : undefined
    if (typeof icon !== 'string' || isLocalPath(icon)) return []
    return checkAddress(icon, ['custom', name], ICON_RULES).map((finding) => ({
      ...finding,
      remedy: `${finding.remedy} A path of this server is allowed as well.`,
    }))
  })
}

// Whether a browser resolves this text to an address on the same server. It resolves `//host` and `/\host` to another
// server, and runs `javascript:` as a script.
function isLocalPath(text: string): boolean {
  const base = 'https://here.invalid/'
  return URL.canParse(text, base) && new URL(text, base).origin === new URL(base).origin && !URL.canParse(text)
}
