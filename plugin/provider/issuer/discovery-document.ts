import type { ServerMetadata } from 'openid-client'
import { membersOf } from '../../config/json/json-object.ts'
import { ISSUER_ENDPOINTS } from '../../config/rules/issuer-members.ts'
import type { IssuerSettings } from '../../config/settings.ts'
import { printableText } from '../../log.ts'
import { type Fetch, ForbiddenExchange, isAllowedAddress, isLoopback } from '../http/limited-fetch.ts'
import { NotedAnswer, noteExchanges, type RefusedExchange } from '../http/noted-exchange.ts'
import { discoveryAddress, isSameIssuer } from './issuer-name.ts'

/** An error for an unusable discovery document. It says what was received, what was expected, and what to do. */
export class UnusableDocument extends Error {
  override readonly name = 'UnusableDocument'
  readonly details: Readonly<Record<string, unknown>>
  readonly remedy: string
  constructor(message: string, details: Readonly<Record<string, unknown>>, remedy: string, cause?: Error) {
    super(message, { cause })
    this.details = details
    this.remedy = remedy
  }
}

/**
 * Loads the discovery document of an issuer.
 *
 * @param issuer the configured issuer. Later checks use the spelling in the document
 * @throws UnusableDocument, UnansweredRequest
 */
export async function loadDocument(issuer: string, fetch: Fetch): Promise<ServerMetadata> {
  const address = discoveryAddress(issuer)
  const init = { method: 'GET', headers: { accept: 'application/json' }, body: undefined, redirect: 'manual' } as const
  const response = await noteExchanges(fetch, () => 'discovery')(address, init)
  if (response instanceof NotedAnswer) throw refused(response.refusal)
  if (response.status !== 200) throw refused({ endpoint: 'discovery', address, status: response.status })
  const document: unknown = await response.json().catch(() => undefined)
  if (!isMetadata(document)) {
    const details = { address, status: 200, expected: 'JSON with `issuer`' }
    throw new UnusableDocument('The answer is not a discovery document', details, NO_DOCUMENT)
  }
  if (!isSameIssuer(issuer, document.issuer)) {
    const publishedIssuer = printableText(document.issuer)
    const details = { address, status: 200, configuredIssuer: printableText(issuer), publishedIssuer }
    throw new UnusableDocument('The IdP publishes another issuer', details, OTHER_ISSUER)
  }
  return document
}

/**
 * The endpoints that this server or a browser uses. The registration endpoint is missing, because the plugin registers
 * no clients.
 */
const ENDPOINTS = ISSUER_ENDPOINTS.filter((name) => name !== 'registration_endpoint')

/**
 * Refuses endpoints without TLS, except on loopback. A discovered one may use plain HTTP only if the issuer is on
 * loopback too. Otherwise a public IdP could send this server's requests to programs on its own machine.
 *
 * @param metadata contains the configured members
 * @throws UnusableDocument caused by a ForbiddenExchange `PLAIN_HTTP`
 */
export function assertSafeAddresses(metadata: ServerMetadata, { issuer, manual }: IssuerSettings): void {
  const isIssuerOnLoopback = isLoopback(new URL(issuer).hostname)
  const aliases = Object.entries(metadata.mtls_endpoint_aliases ?? {})
  const all = [
    ...ENDPOINTS.map((name) => ({ name, address: metadata[name], isConfigured: name in manual })),
    ...aliases.map(([name, address]) => ({
      name: `mtls_endpoint_aliases.${name}`,
      address,
      isConfigured: Object.hasOwn(manual.mtls_endpoint_aliases ?? {}, name),
    })),
  ]
  for (const { name, address, isConfigured } of all) {
    if (typeof address !== 'string' || isSafe(address, isConfigured || isIssuerOnLoopback)) continue
    const reason = `The IdP publishes a ${name} that does not use TLS`
    const cause = new ForbiddenExchange('PLAIN_HTTP', reason)
    throw new UnusableDocument(reason, { endpoint: name, published: printableText(address) }, PLAIN_ENDPOINT, cause)
  }
}

function isSafe(address: string, mayBePlainHttp: boolean): boolean {
  if (!URL.canParse(address)) return false
  const url = new URL(address)
  return isAllowedAddress(url) && (mayBePlainHttp || url.protocol === 'https:')
}

function isMetadata(document: unknown): document is ServerMetadata {
  return typeof membersOf(document).issuer === 'string'
}

function refused(refusal: RefusedExchange): UnusableDocument {
  const { endpoint: _, ...details } = refusal
  const message = `The request for the discovery document was answered with ${refusal.status}`
  return new UnusableDocument(message, { ...details, expected: 'status 200 with JSON' }, remedyFor(refusal))
}

function remedyFor({ status, location }: RefusedExchange): string {
  if (location !== undefined) {
    return 'OIDC: Discovery failed. The request was redirected to `location`, which the plugin does not follow. If that is the IdP, write the issuer of that address in `issuer`; otherwise remove what redirects the request.'
  }
  return status >= 500 ? FAILED : NO_DOCUMENT
}

const NO_DOCUMENT =
  "OIDC: Discovery failed. There is no discovery document at `address`. Write the IdP's issuer in `issuer`: the address up to `/.well-known/openid-configuration` (in Keycloak https://host/realms/NAME, without /auth)."
const FAILED =
  'OIDC: Discovery failed. The IdP, or a proxy in front of it, reports an internal error (`status`). Check its log. The plugin retries by itself.'
const OTHER_ISSUER =
  'OIDC: Discovery failed. The IdP publishes the issuer `publishedIssuer`, but `issuer` is `configuredIssuer`. Write the published one in `issuer`, or tell the IdP its address behind its proxy (in Keycloak: `--hostname`).'
const PLAIN_ENDPOINT =
  'OIDC: Discovery failed. The IdP publishes `published` as its `endpoint`, which is not an https address. Make the IdP publish its https address (behind a proxy, in Keycloak: `--hostname`), or set this endpoint in `issuer`.'
