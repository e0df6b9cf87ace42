import type { ServerMetadata } from 'openid-client'
import { membersOf } from '../../config/json/json-object.ts'
import { ISSUER_ENDPOINTS } from '../../config/rules/issuer-members.ts'
import type { IssuerSettings } from '../../config/settings.ts'
import { printableText } from '../../log.ts'
import { type Fetch, ForbiddenExchange, isAllowedAddress, isLoopback } from '../http/limited-fetch.ts'
import { NotedAnswer, noteExchanges, type RefusedExchange } from '../http/noted-exchange.ts'
import { discoveryAddress, isSameIssuer } from './issuer-name.ts'

/** Why a discovery document is of no use: what came, what was expected, and what mends it. */
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
 * What an issuer publishes about itself.
 *
 * @param issuer as it is configured; the published spelling counts from then on
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
    throw new UnusableDocument('The answer is no discovery document', details, NO_DOCUMENT)
  }
  if (!isSameIssuer(issuer, document.issuer)) {
    const publishedIssuer = printableText(document.issuer)
    const details = { address, status: 200, configuredIssuer: printableText(issuer), publishedIssuer }
    throw new UnusableDocument('The IdP publishes another issuer', details, OTHER_ISSUER)
  }
  return document
}

/** Where this server or a browser is sent: nobody registers anything. */
const ENDPOINTS = ISSUER_ENDPOINTS.filter((name) => name !== 'registration_endpoint')

/**
 * Refuses addresses that would get secrets and codes without TLS. An address on plain HTTP counts on loopback only. A
 * *discovered* one counts only if the configured issuer is on loopback as well: otherwise a public IdP could name
 * programs on this machine.
 *
 * @param metadata what the IdP publishes, overlaid with what was set by hand
 * @throws UnusableDocument caused by a ForbiddenExchange `PLAIN_HTTP`
 */
export function assertSafeAddresses(metadata: ServerMetadata, { issuer, manual }: IssuerSettings): void {
  const isIssuerHere = isLoopback(new URL(issuer).hostname)
  const aliases = Object.entries(metadata.mtls_endpoint_aliases ?? {})
  const all = [
    ...ENDPOINTS.map((name) => ({ name, address: metadata[name], byHand: name in manual })),
    ...aliases.map(([name, address]) => ({
      name: `mtls_endpoint_aliases.${name}`,
      address,
      byHand: Object.hasOwn(manual.mtls_endpoint_aliases ?? {}, name),
    })),
  ]
  for (const { name, address, byHand } of all) {
    if (typeof address !== 'string' || isSafe(address, byHand || isIssuerHere)) continue
    const reason = `The IdP publishes a ${name} that is not reached over TLS`
    const cause = new ForbiddenExchange('PLAIN_HTTP', reason)
    throw new UnusableDocument(reason, { endpoint: name, published: printableText(address) }, PLAIN_ENDPOINT, cause)
  }
}

function isSafe(address: string, mayBePlainHere: boolean): boolean {
  if (!URL.canParse(address)) return false
  const url = new URL(address)
  return isAllowedAddress(url) && (mayBePlainHere || url.protocol === 'https:')
}

function isMetadata(document: unknown): document is ServerMetadata {
  return typeof membersOf(document).issuer === 'string'
}

function refused(refusal: RefusedExchange): UnusableDocument {
  const { endpoint: _, ...details } = refusal
  const message = `The discovery document was answered with ${refusal.status}`
  return new UnusableDocument(message, { ...details, expected: 'status 200 with JSON' }, remedyFor(refusal))
}

function remedyFor({ status, location }: RefusedExchange): string {
  if (location !== undefined) {
    return 'OIDC: Discovery failed. The IdP sends the request on to `location`, which is not followed: write the issuer in `issuer` as that address has it, if it is the IdP, or take away what stands before it.'
  }
  return status >= 500 ? FAILED : NO_DOCUMENT
}

const NO_DOCUMENT =
  'OIDC: Discovery failed. There is no discovery document at `address`. Write in `issuer` what the IdP calls its issuer: the address up to `/.well-known/openid-configuration` (in Keycloak https://host/realms/NAME, without /auth).'
const FAILED =
  'OIDC: Discovery failed. The IdP, or a proxy before it, failed in itself (`status`): look into its log. It is tried again by itself.'
const OTHER_ISSUER =
  'OIDC: Discovery failed. The IdP calls itself `publishedIssuer`, not `configuredIssuer`: write its own name in `issuer`, or set the address that it has behind its proxy at the IdP (in Keycloak `--hostname`).'
const PLAIN_ENDPOINT =
  'OIDC: Discovery failed. The IdP publishes `published` as its `endpoint`, which is no https address. Let the IdP publish its own https address (behind a proxy, in Keycloak: `--hostname`), or set this endpoint in `issuer` by hand.'
