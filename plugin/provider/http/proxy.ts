import type { RequestOptions } from 'node:https'
import { checkServerIdentity } from 'node:tls'
import { getProxyForUrl } from 'proxy-from-env'
import { ForbiddenExchange, isLoopback } from './limited-fetch.ts'
import { VERIFIED } from './verification.ts'

/** A proxy that the environment names. */
export interface Proxy {
  /** The address without credentials. */
  readonly address: URL
  /** The value of the `Proxy-Authorization` header. A secret. */
  readonly authorization: string | undefined
}

/**
 * Returns the proxy for an address, if any, by `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, in upper or
 * lower case.
 *
 * @throws ForbiddenExchange `PROXY_UNUSABLE`
 */
export function proxyFor(url: URL): Proxy | undefined {
  const configured = configuredProxy(url)
  if (configured === '') return undefined
  if (!URL.canParse(configured)) throw new ForbiddenExchange('PROXY_UNUSABLE', 'The address of the proxy is not valid')
  const { protocol, host, hostname, username, password } = new URL(configured)
  // Another machine's proxy would connect to its own loopback, and requests without TLS must not leave this machine.
  if (isLoopback(url.hostname) && !isLoopback(hostname)) return undefined
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new ForbiddenExchange('PROXY_UNUSABLE', 'The address of a proxy must begin with http: or https:')
  }
  const credentials = Buffer.concat([decode(username), Buffer.from(':'), decode(password)])
  return {
    address: new URL(`${protocol}//${host}`),
    authorization: username === '' && password === '' ? undefined : `Basic ${credentials.toString('base64')}`,
  }
}

/**
 * Reads the proxy from the environment. One without a scheme uses http; `proxy-from-env` would use the requested
 * scheme.
 */
function configuredProxy(url: URL): string {
  const proxy = getProxyForUrl(url.href)
  const keepsScheme = ['https_proxy', 'all_proxy'].some((name) =>
    [process.env[name], process.env[name.toUpperCase()]].includes(proxy),
  )
  return keepsScheme ? proxy : proxy.replace(/^https:/, 'http:')
}

/** Decodes percent-encoding. A percent sign that is not part of an encoding stays as it is. */
function decode(text: string): Buffer {
  const bytes = text.replace(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1')
}

/**
 * Returns the connection options for a request through a proxy. An https request gets a tunnel, which `signal` closes.
 */
export async function throughProxy(url: URL, proxy: Proxy, signal: AbortSignal): Promise<RequestOptions> {
  const { address, authorization } = proxy
  const headers = authorization === undefined ? {} : { 'Proxy-Authorization': authorization }
  if (url.protocol === 'http:') return plainRequest(url, proxy)
  // Load `https-proxy-agent` only if there is a proxy, because most servers have none.
  const { HttpsProxyAgent } = await import('https-proxy-agent')
  const name = url.hostname.replace(/^\[|\]$/g, '')
  return {
    agent: new HttpsProxyAgent(address, { headers, signal, ...VERIFIED }),
    ...VERIFIED,
    // Check the certificate against the IdP's host. If that host is an IP address, `https-proxy-agent` would use the
    // name of the proxy instead.
    checkServerIdentity: (_name, certificate) => checkServerIdentity(name, certificate),
  }
}

/** Returns the options for a request without TLS, with the full address as its path (RFC 9112, section 3.2.2). */
function plainRequest(url: URL, { address, authorization }: Proxy): RequestOptions {
  if (address.protocol !== 'http:')
    throw new ForbiddenExchange('PROXY_UNUSABLE', 'The address in HTTP_PROXY must begin with http:')
  return {
    agent: false,
    hostname: address.hostname,
    port: address.port || '80',
    path: url.href,
    headers: { host: url.host, ...(authorization === undefined ? {} : { 'proxy-authorization': authorization }) },
  }
}
