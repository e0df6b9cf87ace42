import { BlockList, isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { ListenSettings } from '../../config/settings.ts'

/**
 * Address that requests are counted by: an IPv4 address, or the /64 network of an IPv6 address, which one customer has.
 */
export type ClientAddress = string

/**
 * Finds a request's client from its peer's address and its `X-Forwarded-For`. All header lines of that name are joined
 * by commas.
 */
export type ClientAddressOf = (peer: string | undefined, forwardedFor: string | undefined) => ClientAddress

/** Finds the client of a connection before its first request. Undefined for a trusted proxy, which serves many. */
export type ClientOfPeer = (peer: string | undefined) => ClientAddress | undefined

export function clientOfPeerBy(trustProxy: ListenSettings['trustProxy']): ClientOfPeer {
  const isProxy = isProxyBy(trustProxy)
  return (peer) => (isProxy(peer) ? undefined : addressKey(peer ?? ''))
}

/** Returns a function that tells whether a connection's peer is a trusted proxy. */
export function isProxyBy(trustProxy: ListenSettings['trustProxy']): (peer: string | undefined) => boolean {
  if (typeof trustProxy === 'boolean') return () => trustProxy
  const trusted = blockList(trustProxy)
  return (peer) => isListed(trusted, peer ?? '')
}

/**
 * Returns a function that finds a request's client. Each proxy appends its peer's address, so the list is read from its
 * end, as long as a trusted proxy wrote the entry. A client can have made up everything before that.
 */
export function clientAddressBy(trustProxy: ListenSettings['trustProxy']): ClientAddressOf {
  if (trustProxy === false) return (peer) => addressKey(peer ?? '')
  const trusted = trustProxy === true ? undefined : blockList(trustProxy)
  return (peer, forwardedFor) => {
    let client = peer ?? ''
    const entries = forwardedFor?.split(',') ?? []
    while (entries.length > 0 && (trusted === undefined || isListed(trusted, client))) {
      const next = withoutPort(entries.pop()?.trim() ?? '')
      if (isIP(next) === 0) break
      client = next
      // `true` trusts the direct peer only.
      if (trusted === undefined) break
    }
    return addressKey(client)
  }
}

function blockList(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', bits] = range.split('/')
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}

/**
 * Looks an address up. `BlockList` itself treats `::ffff:192.0.2.1`, the form of IPv4 addresses on a dual-stack socket,
 * as IPv4, and ignores zones.
 */
function isListed(list: BlockList, address: string): boolean {
  const version = isIP(address)
  return version !== 0 && list.check(address, version === 4 ? 'ipv4' : 'ipv6')
}

/** Strips the port that some proxies write: `192.0.2.1:443`, `[2001:db8::1]:443`. */
function withoutPort(entry: string): string {
  const bracketed = /^\[(.*)\](?::\d+)?$/.exec(entry)
  if (bracketed) return bracketed[1] ?? ''
  return /^[\d.]+:\d+$/.test(entry) ? entry.slice(0, entry.indexOf(':')) : entry
}

/**
 * Returns the network that new stations and devices are counted by: a provider gives a customer a /56 of IPv6
 * addresses, which has 256 networks of /64.
 */
export function newcomerNetwork(client: ClientAddress): string {
  return wideNetwork(client) ?? client
}

/**
 * Returns the network that the log shows instead of a client, so that it identifies no person: the /24 of an IPv4
 * address, the /56 of an IPv6 address.
 */
export function shownNetwork(client: ClientAddress): string {
  return wideNetwork(client) ?? (isIP(client) === 4 ? `${client.slice(0, client.lastIndexOf('.'))}.0/24` : client)
}

/** Returns the /56 around a /64; undefined for other addresses. */
function wideNetwork(client: ClientAddress): string | undefined {
  const [network = '', bits] = client.split('::/')
  if (bits !== '64') return undefined
  const parts = network.split(':').map((part) => Number.parseInt(part, 16))
  const wide = [...parts.slice(0, 3), (parts[3] ?? 0) & 0xff00].map((part) => part.toString(16))
  return `${wide.join(':')}::/56`
}

function addressKey(text: string): ClientAddress {
  if (isIP(text) !== 6) return text
  // The library accepts only letters and digits in a zone, so the zone is removed.
  const address = ipaddr.process(text.replace(/%.*/s, ''))
  if (address instanceof ipaddr.IPv4) return address.toString()
  const network = address.parts.slice(0, 4).map((part) => part.toString(16))
  return `${network.join(':')}::/64`
}
