import type { ServerMetadata } from 'openid-client'
import { membersOf } from '../../config/json/json-object.ts'
import { ISSUER_ENDPOINTS } from '../../config/rules/issuer-members.ts'
import { printableText } from '../../log.ts'
import { type Fetch, ForbiddenExchange, isAllowedAddress } from '../http/limited-fetch.ts'
import { NotedAnswer, noteExchanges, type RefusedExchange } from '../http/noted-exchange.ts'
import { discoveryAddress, isSameIssuer } from './issuer-name.ts'

/** Why a discovery document is of no use: what came, what was expected, and what mends it. */
export class UnusableDocument extends Error {
  override readonly name = 'UnusableDocument'
  readonly details: Readonly<Record<string, unknown>>
  readonly remedy: string
  constructor(message: string, details: Readonly<Record<string, unknown>>, remedy: string) {
    super(message)
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

/** @throws ForbiddenExchange `PLAIN_HTTP`: secrets and codes go to these addresses */
export function assertSafeAddresses(metadata: ServerMetadata): void {
  const aliases = Object.entries(metadata.mtls_endpoint_aliases ?? {})
  for (const [name, address] of [...ENDPOINTS.map((name) => [name, metadata[name]] as const), ...aliases]) {
    if (typeof address !== 'string' || (URL.canParse(address) && isAllowedAddress(new URL(address)))) continue
    throw new ForbiddenExchange('PLAIN_HTTP', `The IdP publishes a ${name} that is not reached over TLS`)
  }
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
