import { request } from 'node:http'
import { request as secureRequest } from 'node:https'
import { isIP, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { checkServerIdentity, type PeerCertificate } from 'node:tls'
import { getProxyForUrl } from 'proxy-from-env'

/** For the proxy to open a tunnel: its caller waits for a notification's answer no longer than that. */
const OPENING_MS = 10_000

/** What a TLS connection is made with in place of one of its own. */
export interface ThroughTunnel {
  readonly socket: Duplex
  readonly checkServerIdentity: (name: string, certificate: PeerCertificate) => Error | undefined
}

/**
 * The way to a push gateway through the proxy that `HTTPS_PROXY` names, unless `NO_PROXY` names the gateway. TLS inside
 * is the caller's own. Undefined: there is none. Loopback goes through a proxy on loopback alone: for any other one it
 * is another machine.
 */
export function throughProxy(host: string, port: number): ThroughTunnel | undefined {
  const name = isIP(host) === 6 ? `[${host}]` : host
  const written = proxyFor(`https://${name}:${port}`)
  if (written === '' || (isLoopback(name) && !isLoopback(hostOf(written)))) return undefined
  return {
    socket: new Tunnel(written, `${name}:${port}`),
    // By itself Node compares the certificate for an IP address with another name.
    checkServerIdentity: (_name, certificate) => checkServerIdentity(host, certificate),
  }
}

/**
 * As with other programs, a proxy without a scheme is reached by http: the package takes it to have that of the
 * address.
 */
function proxyFor(address: string): string {
  const proxy = getProxyForUrl(address)
  const isWhole = ['https_proxy', 'all_proxy'].some((name) =>
    [process.env[name], process.env[name.toUpperCase()]].includes(proxy),
  )
  return isWhole ? proxy : proxy.replace(/^https:/, 'http:')
}

/**
 * One tunnel, opened by CONNECT: what is written before it is there waits. Errors say nothing of the proxy's address:
 * it may hold a password.
 */
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

/** Percent-encoded as in an address; a percent sign that nobody encoded stands for itself. */
function decode(text: string): Buffer {
  const bytes = text.replace(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1')
}

function refusal(code: 'PROXY_REFUSED' | 'PROXY_UNUSABLE'): Error {
  return Object.assign(new Error('The proxy opened no tunnel'), { code })
}

function hostOf(proxy: string): string {
  return URL.canParse(proxy) ? new URL(proxy).hostname : ''
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host)
}
