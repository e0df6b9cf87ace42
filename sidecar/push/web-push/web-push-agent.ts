import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { Agent, type RequestOptions } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { Duplex } from 'node:stream'
import { createSecureContext, rootCertificates } from 'node:tls'
import { isLocalName, isPublicAddress } from '../../config/address-scope.ts'
import { throughProxy } from '../gateway/tunnel.ts'

/** The error for an endpoint in a private network or on this machine. */
export class AddressRefused extends Error {
  readonly code = 'ADDRESS_NOT_PUBLIC'
}

export interface WebPushAgentOptions {
  readonly allowPrivate: boolean
  /** CA certificates in PEM, trusted in addition to those that Node.js includes. */
  readonly ca?: string
  /** DNS servers as `address:port`. Default: the DNS servers of the machine. */
  readonly dnsServers?: readonly string[]
}

/** Limit of idle connections to all push services together. Above it, a connection is closed after its request. */
const MAX_IDLE = 32
const IDLE_MS = 30_000
const DNS_TRY_MS = 2_000

/**
 * Opens the connections to push services. A hostile app could choose an endpoint in a private network, so the agent
 * connects only to checked addresses. A second lookup could return others (DNS rebinding).
 */
export class WebPushAgent extends Agent {
  readonly #allowPrivate: boolean
  readonly #dnsServers: readonly string[] | undefined
  readonly #resolvers = new Set<Resolver>()
  #closed = false

  constructor({ allowPrivate, ca, dnsServers }: WebPushAgentOptions) {
    // The TLS context is created once. With the option `ca` instead, each connection would parse all certificates
    // again.
    const trust = ca === undefined ? {} : { secureContext: createSecureContext({ ca: [...rootCertificates, ca] }) }
    super({ keepAlive: true, timeout: IDLE_MS, rejectUnauthorized: true, ...trust })
    this.#allowPrivate = allowPrivate
    this.#dnsServers = dnsServers
  }

  override createConnection(options: RequestOptions, connected: (error: Error | null, socket?: Duplex) => void) {
    const open = async () => {
      const route = await this.#route(options.host ?? '', Number(options.port ?? 443))
      return super.createConnection({ ...options, ...route })
    }
    open().then(
      (socket) => connected(null, socket ?? undefined),
      (error: Error) => {
        // Node.js keeps an empty list of sockets for each host, even after a failure. Hostile apps could fill the
        // memory with invented hosts, so the list is deleted.
        const name = this.getName(options)
        if (this.sockets[name]?.length === 0) Reflect.deleteProperty(this.sockets, name)
        connected(error)
      },
    )
    return undefined
  }

  // Returns true to keep an idle connection open. The types of Node.js do not declare this return value.
  override keepSocketAlive(socket: Duplex): unknown {
    const idle = Object.values(this.freeSockets).reduce((sum, sockets) => sum + (sockets?.length ?? 0), 0)
    return idle < MAX_IDLE && super.keepSocketAlive(socket)
  }

  override destroy(): void {
    this.#closed = true
    for (const resolver of this.#resolvers) resolver.cancel()
    super.destroy()
  }

  /**
   * Returns the connection options for a host: a tunnel through the proxy, or a lookup of the checked addresses. Throws
   * if the host is not allowed.
   */
  async #route(host: string, port: number): Promise<object> {
    if (this.#allowPrivate) return throughProxy(host, port) ?? {}
    if (isIP(host) === 0 ? isLocalName(host) : !isPublicAddress(host)) throw new AddressRefused()
    if (isIP(host) !== 0) return throughProxy(host, port) ?? {}
    try {
      const addresses = await this.#publicAddresses(host)
      // A proxy resolves the name again. This is safe: a server gets no data without a certificate for the name.
      return throughProxy(host, port) ?? { lookup: lookupOf(addresses) }
    } catch (error) {
      // In networks with a proxy, the sidecar's own lookup may fail, because often only the proxy can resolve public
      // names.
      const tunnel = error instanceof AddressRefused || this.#closed ? undefined : throughProxy(host, port)
      if (tunnel) return tunnel
      throw error
    }
  }

  /**
   * Resolves a name. Throws if an address is not public. The system's resolver runs few lookups at a time, so two names
   * with dead DNS servers would delay all others.
   */
  async #publicAddresses(host: string): Promise<readonly LookupAddress[]> {
    // A resolver reads the list of the machine's DNS servers only once. The list may change, so each lookup creates a
    // new resolver.
    const resolver = new Resolver({ timeout: DNS_TRY_MS, tries: 2 })
    if (this.#dnsServers) resolver.setServers(this.#dnsServers)
    this.#resolvers.add(resolver)
    try {
      const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
      if (v4.status === 'rejected' && v6.status === 'rejected') throw v4.reason
      if (this.#closed) throw new Error('The gateway is closed')
      const addresses = [
        ...(v4.status === 'fulfilled' ? v4.value.map((address) => ({ address, family: 4 })) : []),
        ...(v6.status === 'fulfilled' ? v6.value.map((address) => ({ address, family: 6 })) : []),
      ]
      if (!addresses.every(({ address }) => isPublicAddress(address))) throw new AddressRefused()
      return addresses
    } finally {
      this.#resolvers.delete(resolver)
    }
  }
}

/** Creates a lookup function that returns `addresses`, which are checked to be public. */
function lookupOf(addresses: readonly LookupAddress[]): LookupFunction {
  return (_host, { all }, answer) => {
    const [first = { address: '', family: 4 }] = addresses
    if (all) answer(null, [...addresses])
    else answer(null, first.address, first.family)
  }
}
