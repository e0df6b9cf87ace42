import type { RequestOptions } from 'node:https'
import { checkServerIdentity } from 'node:tls'
import { getProxyForUrl } from 'proxy-from-env'
import { ForbiddenExchange, isLoopback } from './limited-fetch.ts'
import { VERIFIED } from './verification.ts'

/** A proxy that the environment names. */
export interface Proxy {
  /** Without credentials. */
  readonly address: URL
  /** A secret: value of the `Proxy-Authorization` header. */
  readonly authorization: string | undefined
}

/**
 * The proxy for an address, by `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` in capitals or not, as they are
 * now. Undefined: it is asked directly. A loopback address goes through a proxy on loopback alone: for any other one it
 * is another machine, and what may be sent without TLS is on this machine only.
 *
 * @throws ForbiddenExchange `PROXY_UNUSABLE`
 */
export function proxyFor(url: URL): Proxy | undefined {
  const written = writtenFor(url)
  if (written === '') return undefined
  if (!URL.canParse(written)) throw new ForbiddenExchange('PROXY_UNUSABLE', 'The proxy address is none')
  const { protocol, host, hostname, username, password } = new URL(written)
  if (isLoopback(url.hostname) && !isLoopback(hostname)) return undefined
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new ForbiddenExchange('PROXY_UNUSABLE', 'A proxy is reached by http or https')
  }
  const credentials = Buffer.concat([decode(username), Buffer.from(':'), decode(password)])
  return {
    address: new URL(`${protocol}//${host}`),
    authorization: username === '' && password === '' ? undefined : `Basic ${credentials.toString('base64')}`,
  }
}

/**
 * As with other programs, a proxy without a scheme is reached by http: the package takes it to have that of the
 * address.
 */
function writtenFor(url: URL): string {
  const proxy = getProxyForUrl(url.href)
  const isWhole = ['https_proxy', 'all_proxy'].some((name) =>
    [process.env[name], process.env[name.toUpperCase()]].includes(proxy),
  )
  return isWhole ? proxy : proxy.replace(/^https:/, 'http:')
}

/** Percent-encoded as in an address; a percent sign that nobody encoded stands for itself. */
function decode(text: string): Buffer {
  const bytes = text.replace(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1')
}

/**
 * How a request gets to the other side through a proxy: by a tunnel, in which TLS is this server's own, from end to
 * end. Each has one of its own, cut off by `signal`.
 */
export async function throughProxy(url: URL, proxy: Proxy, signal: AbortSignal): Promise<RequestOptions> {
  const { address, authorization } = proxy
  const headers = authorization === undefined ? {} : { 'Proxy-Authorization': authorization }
  if (url.protocol === 'http:') return asWhole(url, proxy)
  // Loaded here and not before: most servers have no proxy.
  const { HttpsProxyAgent } = await import('https-proxy-agent')
  const name = url.hostname.replace(/^\[|\]$/g, '')
  return {
    agent: new HttpsProxyAgent(address, { headers, signal, ...VERIFIED }),
    ...VERIFIED,
    // For an IP address the library would compare the certificate with the name of the proxy.
    checkServerIdentity: (_name, certificate) => checkServerIdentity(name, certificate),
  }
}

/** Without TLS, and so on loopback: the proxy is asked for the whole address. Source: RFC 9112, section 3.2.2. */
function asWhole(url: URL, { address, authorization }: Proxy): RequestOptions {
  if (address.protocol !== 'http:') throw new ForbiddenExchange('PROXY_UNUSABLE', 'HTTP_PROXY is reached by http')
  return {
    agent: false,
    hostname: address.hostname,
    port: address.port || '80',
    path: url.href,
    headers: { host: url.host, ...(authorization === undefined ? {} : { 'proxy-authorization': authorization }) },
  }
}
