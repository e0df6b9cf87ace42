import type { ServerMetadata } from 'openid-client'

/** The name that an IdP's metadata have for an address; an alias for client certificates has that of its endpoint. */
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
