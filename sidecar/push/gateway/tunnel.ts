import { request } from 'node:http'
import { request as secureRequest } from 'node:https'
import { isIP, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { checkServerIdentity, type PeerCertificate } from 'node:tls'
import { getProxyForUrl } from 'proxy-from-env'

/** Time limit for the proxy to open a tunnel, in milliseconds. It equals the time limit of a notification. */
const OPENING_MS = 10_000

/** Options of a TLS connection through a tunnel. */
export interface ThroughTunnel {
  readonly socket: Duplex
  readonly checkServerIdentity: (name: string, certificate: PeerCertificate) => Error | undefined
}

/**
 * Opens a tunnel to a push gateway through the proxy in `HTTPS_PROXY`. Returns undefined if there is no proxy, or
 * `NO_PROXY` names the gateway. The caller must establish TLS inside the tunnel.
 */
export function throughProxy(host: string, port: number): ThroughTunnel | undefined {
  const name = isIP(host) === 6 ? `[${host}]` : host
  const written = proxyFor(`https://${name}:${port}`)
  // To a proxy on another machine, a loopback address means that machine.
  if (written === '' || (isLoopback(name) && !isLoopback(hostOf(written)))) return undefined
  return {
    socket: new Tunnel(written, `${name}:${port}`),
    // Checks that the certificate is valid for `host`. If `host` is an IP address, Node.js would check another name by
    // default.
    checkServerIdentity: (_name, certificate) => checkServerIdentity(host, certificate),
  }
}

/** Returns the URL of the proxy for an address, or ''. Without a scheme, it uses http, as in other programs. */
function proxyFor(address: string): string {
  const proxy = getProxyForUrl(address)
  const isWhole = ['https_proxy', 'all_proxy'].some((name) =>
    [process.env[name], process.env[name.toUpperCase()]].includes(proxy),
  )
  // `proxy-from-env` adds the scheme of the address instead.
  return isWhole ? proxy : proxy.replace(/^https:/, 'http:')
}

/** A tunnel through a proxy, opened by CONNECT. Errors omit the proxy's address, which may contain a password. */
class Tunnel extends Duplex {
  readonly #proxy: string
  readonly #target: string
  readonly #opening = new AbortController()
  #socket: Socket | undefined

  constructor(proxy: string, target: string) {
    super()
    this.#proxy = proxy
    this.#target = target
  }

  override _construct(done: (error?: Error | null) => void): void {
    if (!URL.canParse(this.#proxy) || !/^https?:/.test(this.#proxy)) {
      done(refusal('PROXY_UNUSABLE'))
      return
    }
    const { protocol, hostname, port, username, password } = new URL(this.#proxy)
    const credentials = Buffer.concat([decode(username), Buffer.from(':'), decode(password)])
    const shown = { 'proxy-authorization': `Basic ${credentials.toString('base64')}` }
    const connecting = (protocol === 'https:' ? secureRequest : request)({
      method: 'CONNECT',
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port || (protocol === 'https:' ? 443 : 80),
      path: this.#target,
      headers: { host: this.#target, ...(username === '' && password === '' ? {} : shown) },
      agent: false,
      ...(protocol === 'https:' ? { rejectUnauthorized: true } : {}),
      signal: AbortSignal.any([this.#opening.signal, AbortSignal.timeout(OPENING_MS)]),
    })
    connecting.once('error', done)
    connecting.once('response', (response) => {
      response.destroy()
      done(refusal('PROXY_REFUSED'))
    })
    connecting.once('connect', ({ statusCode }, socket: Socket, head: Buffer) => {
      if (statusCode === 200) this.#join(socket, head)
      else socket.destroy()
      done(statusCode === 200 ? null : refusal('PROXY_REFUSED'))
    })
    connecting.end()
  }

  #join(socket: Socket, head: Buffer): void {
    this.#socket = socket
    if (head.length > 0) socket.unshift(head)
    socket.on('data', (chunk: Buffer) => {
      if (!this.push(chunk)) socket.pause()
    })
    socket.once('end', () => this.push(null))
    socket.once('error', (error) => this.destroy(error))
    socket.once('close', () => this.destroy())
  }

  override _read(): void {
    this.#socket?.resume()
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket?.write(chunk, encoding, done)
  }

  override _final(done: () => void): void {
    this.#socket?.end(done)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#opening.abort()
    this.#socket?.destroy()
    done(error)
  }
}

/** Decodes the percent-encoded user name or password of a URL. Leaves an invalid percent sequence unchanged. */
function decode(text: string): Buffer {
  const bytes = text.replace(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1')
}

function refusal(code: 'PROXY_REFUSED' | 'PROXY_UNUSABLE'): Error {
  return Object.assign(new Error('The proxy did not open a tunnel'), { code })
}

function hostOf(proxy: string): string {
  return URL.canParse(proxy) ? new URL(proxy).hostname : ''
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host)
}
