import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { Agent, type RequestOptions } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { Duplex } from 'node:stream'
import { createSecureContext, rootCertificates } from 'node:tls'
import { isLocalName, isPublicAddress } from '../../config/address-scope.ts'
import { throughProxy } from '../gateway/tunnel.ts'

/** The endpoint leads into a private network, or to this machine. */
export class AddressRefused extends Error {
  readonly code = 'ADDRESS_NOT_PUBLIC'
}

export interface WebPushAgentOptions {
  readonly allowPrivate: boolean
  /** CA certificates in PEM to trust beside the well-known ones. */
  readonly ca?: string
  /** DNS servers as `address:port`; absent: those of the machine. */
  readonly dnsServers?: readonly string[]
}

/** Connections that wait for another notification, over all push services. */
const MAX_IDLE = 32
const IDLE_MS = 30_000
const DNS_TRY_MS = 2_000

/**
 * The connections to push services. Whoever registers a phone chooses where they lead, and a name can mean one address
 * while it is checked and another when it is used: so those addresses are checked that are connected to.
 */
export class WebPushAgent extends Agent {
  readonly #allowPrivate: boolean
  readonly #dnsServers: readonly string[] | undefined
  readonly #resolvers = new Set<Resolver>()
  #closed = false

  constructor({ allowPrivate, ca, dnsServers }: WebPushAgentOptions) {
    // Made once: every connection that is handed certificates reads all of them anew.
    const trust = ca === undefined ? {} : { secureContext: createSecureContext({ ca: [...rootCertificates, ca] }) }
    super({ keepAlive: true, timeout: IDLE_MS, rejectUnauthorized: true, ...trust })
    this.#allowPrivate = allowPrivate
    this.#dnsServers = dnsServers
  }

  override createConnection(options: RequestOptions, connected: (error: Error | null, socket?: Duplex) => void) {
    const open = async () => {
      const way = await this.#way(options.host ?? '', Number(options.port ?? 443))
      return super.createConnection({ ...options, ...way })
    }
    open().then(
      (socket) => connected(null, socket ?? undefined),
      (error: Error) => {
        // Node keeps an empty list for each name that came to nothing: whoever makes up names could fill the memory.
        const name = this.getName(options)
        if (this.sockets[name]?.length === 0) Reflect.deleteProperty(this.sockets, name)
        connected(error)
      },
    )
    return undefined
  }

  // Node's types do not say that what this returns decides whether the connection is kept.
  override keepSocketAlive(socket: Duplex): unknown {
    const idle = Object.values(this.freeSockets).reduce((sum, sockets) => sum + (sockets?.length ?? 0), 0)
    return idle < MAX_IDLE && super.keepSocketAlive(socket)
  }

  override destroy(): void {
    this.#closed = true
    for (const resolver of this.#resolvers) resolver.cancel()
    super.destroy()
  }

  /** How to get to a host, once that is known to be allowed. */
  async #way(host: string, port: number): Promise<object> {
    if (this.#allowPrivate) return throughProxy(host, port) ?? {}
    if (isIP(host) === 0 ? isLocalName(host) : !isPublicAddress(host)) throw new AddressRefused()
    if (isIP(host) !== 0) return throughProxy(host, port) ?? {}
    try {
      const addresses = await this.#publicAddresses(host)
      // A proxy looks the name up by itself. Should it be told another address than we were, what is there has to show
      // a certificate for the name before it gets to read anything.
      return throughProxy(host, port) ?? { lookup: answering(addresses) }
    } catch (error) {
      // Behind a proxy, names of the internet are often known to it alone.
      const tunnel = error instanceof AddressRefused || this.#closed ? undefined : throughProxy(host, port)
      if (tunnel) return tunnel
      throw error
    }
  }

  /**
   * All addresses of a name, each of them public. Not by the system's own look-up: two names whose DNS servers never
   * answer would hold up every other look-up of this process, those of APRS-IS and of the other gateways included.
   */
  async #publicAddresses(host: string): Promise<readonly LookupAddress[]> {
    // A new one each time: it reads the machine's DNS servers when it is made, and those change.
    const resolver = new Resolver({ timeout: DNS_TRY_MS, tries: 2 })
    if (this.#dnsServers) resolver.setServers(this.#dnsServers)
    this.#resolvers.add(resolver)
    try {
      const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
      if (v4.status === 'rejected' && v6.status === 'rejected') throw v4.reason
      if (this.#closed) throw new Error('The gateway is closed')
      const found = [
        ...(v4.status === 'fulfilled' ? v4.value.map((address) => ({ address, family: 4 })) : []),
        ...(v6.status === 'fulfilled' ? v6.value.map((address) => ({ address, family: 6 })) : []),
      ]
      if (!found.every(({ address }) => isPublicAddress(address))) throw new AddressRefused()
      return found
    } finally {
      this.#resolvers.delete(resolver)
    }
  }
}

/** A look-up that gives what was found and checked. */
function answering(addresses: readonly LookupAddress[]): LookupFunction {
  return (_host, { all }, answer) => {
    const [first = { address: '', family: 4 }] = addresses
    if (all) answer(null, [...addresses])
    else answer(null, first.address, first.family)
  }
}
