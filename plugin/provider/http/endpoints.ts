import type { ServerMetadata } from 'openid-client'
import type { Credentials } from '../../config/settings.ts'

export type AliasedEndpoint = 'token_endpoint' | 'userinfo_endpoint' | 'introspection_endpoint' | 'revocation_endpoint'

/** Returns an endpoint's address, if any. With a client certificate, prefers its mTLS alias (RFC 8705, section 5). */
export function endpointAddress(
  metadata: ServerMetadata,
  { certificate }: Credentials,
  endpoint: AliasedEndpoint,
): string | undefined {
  const alias = certificate ? metadata.mtls_endpoint_aliases?.[endpoint] : undefined
  const address = alias ?? metadata[endpoint]
  return address !== undefined && URL.canParse(address) ? new URL(address).href : undefined
}

/**
 * Returns the name of the metadata member that contains this address, such as `token_endpoint`. An mTLS alias has the
 * same name as its endpoint.
 */
export function endpointName(metadata: ServerMetadata, address: string): string | undefined {
  const named = [...Object.entries(metadata), ...Object.entries(metadata.mtls_endpoint_aliases ?? {})]
  return named.find(
    ([name, value]) =>
      /_(?:endpoint|uri)$/.test(name) &&
      typeof value === 'string' &&
      URL.canParse(value) &&
      new URL(value).href === address,
  )?.[0]
}
