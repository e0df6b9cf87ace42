import { BlockList, isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { ListenSettings } from '../../config/settings.ts'

/** The address by which a client's requests are counted: IPv4, or an IPv6 /64, the least that a customer has. */
export type ClientAddress = string

/**
 * Returns the client of a request, given the peer's address and `X-Forwarded-For`. If a request has several of these
 * headers, their values are joined by commas.
 */
export type ClientAddressOf = (peer: string | undefined, forwardedFor: string | undefined) => ClientAddress

/**
 * Returns the client of a connection before its first request. Returns undefined for a trusted proxy, because it serves
 * many clients.
 */
export type ClientOfPeer = (peer: string | undefined) => ClientAddress | undefined

export function clientOfPeerBy(trustProxy: ListenSettings['trustProxy']): ClientOfPeer {
  const isProxy = isProxyBy(trustProxy)
  return (peer) => (isProxy(peer) ? undefined : addressKey(peer ?? ''))
}

/** Returns a function that decides whether a connection's peer is a trusted proxy. */
export function isProxyBy(trustProxy: ListenSettings['trustProxy']): (peer: string | undefined) => boolean {
  if (typeof trustProxy === 'boolean') return () => trustProxy
  const trusted = blockList(trustProxy)
  return (peer) => isListed(trusted, peer ?? '')
}

/**
 * Returns a function that finds the client of a request. In `X-Forwarded-For`, clients can forge all entries except the
 * last ones, which trusted proxies append.
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
      // With `trustProxy: true`, only the direct peer is a trusted proxy.
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
 * Returns whether `list` contains an address. `BlockList` treats `::ffff:192.0.2.1` as IPv4, and ignores IPv6 zones.
 */
function isListed(list: BlockList, address: string): boolean {
  const version = isIP(address)
  return version !== 0 && list.check(address, version === 4 ? 'ipv4' : 'ipv6')
}

/** Strips the port that some proxies append to the address: `192.0.2.1:443`, `[2001:db8::1]:443`. */
function withoutPort(entry: string): string {
  const bracketed = /^\[(.*)\](?::\d+)?$/.exec(entry)
  if (bracketed) return bracketed[1] ?? ''
  return /^[\d.]+:\d+$/.test(entry) ? entry.slice(0, entry.indexOf(':')) : entry
}

/** Returns the network by which new stations and devices are counted: for IPv6 the /56, which one customer may have. */
export function newcomerNetwork(client: ClientAddress): string {
  return wideNetwork(client) ?? client
}

/** Returns the network that the log shows, so that it identifies no person: an IPv4 /24 or an IPv6 /56. */
export function shownNetwork(client: ClientAddress): string {
  return wideNetwork(client) ?? (isIP(client) === 4 ? `${client.slice(0, client.lastIndexOf('.'))}.0/24` : client)
}

/** Returns the /56 network around a /64 network; undefined for other addresses. */
function wideNetwork(client: ClientAddress): string | undefined {
  const [network = '', bits] = client.split('::/')
  if (bits !== '64') return undefined
  const parts = network.split(':').map((part) => Number.parseInt(part, 16))
  const wide = [...parts.slice(0, 3), (parts[3] ?? 0) & 0xff00].map((part) => part.toString(16))
  return `${wide.join(':')}::/56`
}

function addressKey(text: string): ClientAddress {
  if (isIP(text) !== 6) return text
  // ipaddr.js accepts only letters and digits in an IPv6 zone, so the zone is removed before parsing.
  const address = ipaddr.process(text.replace(/%.*/s, ''))
  if (address instanceof ipaddr.IPv4) return address.toString()
  const network = address.parts.slice(0, 4).map((part) => part.toString(16))
  return `${network.join(':')}::/64`
}
