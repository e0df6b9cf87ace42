import { BlockList, isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { ListenSettings } from '../../config/settings.ts'

/** Who a request counts for: an IPv4 address, or the /64 network of an IPv6 address, which is one customer's. */
export type ClientAddress = string

/**
 * Finds a request's client from its peer's address and its `X-Forwarded-For`, every header line of that name joined by
 * commas.
 */
export type ClientAddressOf = (peer: string | undefined, forwardedFor: string | undefined) => ClientAddress

/**
 * Who a connection counts for before anything is said on it; undefined when its peer is a trusted proxy, which speaks
 * for many.
 */
export type ClientOfPeer = (peer: string | undefined) => ClientAddress | undefined

export function clientOfPeerBy(trustProxy: ListenSettings['trustProxy']): ClientOfPeer {
  const isProxy = isProxyBy(trustProxy)
  return (peer) => (isProxy(peer) ? undefined : addressKey(peer ?? ''))
}

/** Whether a connection's peer is a trusted proxy. */
export function isProxyBy(trustProxy: ListenSettings['trustProxy']): (peer: string | undefined) => boolean {
  if (typeof trustProxy === 'boolean') return () => trustProxy
  const trusted = blockList(trustProxy)
  return (peer) => isListed(trusted, peer ?? '')
}

/**
 * Each proxy appends the address that it was called from, so the list is read from its end for as long as a trusted
 * proxy wrote the entry; what stands before that, anyone can have made up.
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
      // True trusts whoever connects, and nobody further away.
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
 * The list itself takes `::ffff:192.0.2.1`, as a dual-stack socket shows IPv4 addresses, for IPv4, and looks at no
 * zone.
 */
function isListed(list: BlockList, address: string): boolean {
  const version = isIP(address)
  return version !== 0 && list.check(address, version === 4 ? 'ipv4' : 'ipv6')
}

/** `192.0.2.1:443` and `[2001:db8::1]:443`, as some proxies write them. */
function withoutPort(entry: string): string {
  const bracketed = /^\[(.*)\](?::\d+)?$/.exec(entry)
  if (bracketed) return bracketed[1] ?? ''
  return /^[\d.]+:\d+$/.test(entry) ? entry.slice(0, entry.indexOf(':')) : entry
}

/**
 * Who new stations and devices count for: a provider gives a customer a whole /56 of IPv6 addresses, which has 256
 * networks of /64.
 */
export function newcomerNetwork(client: ClientAddress): string {
  return wideNetwork(client) ?? client
}

/**
 * What the log shows of a client, so that it tells no single person: the /24 of an IPv4 address, the /56 of an IPv6
 * one.
 */
export function shownNetwork(client: ClientAddress): string {
  return wideNetwork(client) ?? (isIP(client) === 4 ? `${client.slice(0, client.lastIndexOf('.'))}.0/24` : client)
}

/** The /56 around a /64; undefined for other addresses. */
function wideNetwork(client: ClientAddress): string | undefined {
  const [network = '', bits] = client.split('::/')
  if (bits !== '64') return undefined
  const parts = network.split(':').map((part) => Number.parseInt(part, 16))
  const wide = [...parts.slice(0, 3), (parts[3] ?? 0) & 0xff00].map((part) => part.toString(16))
  return `${wide.join(':')}::/56`
}

function addressKey(text: string): ClientAddress {
  if (isIP(text) !== 6) return text
  // Whatever may stand in a zone, the library takes letters and digits only.
  const address = ipaddr.process(text.replace(/%.*/s, ''))
  if (address instanceof ipaddr.IPv4) return address.toString()
  const network = address.parts.slice(0, 4).map((part) => part.toString(16))
  return `${network.join(':')}::/64`
}
