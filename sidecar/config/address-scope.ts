import ipaddr from 'ipaddr.js'

/** Prefix of IPv6 addresses that NAT64 translates to IPv4, for machines without IPv4. Source: RFC 6052, 2.1. */
const TRANSLATED = ipaddr.IPv6.parse('64:ff9b::')
/**
 * The only IPv6 range from which public addresses have been assigned so far. Source: RFC 4291, 2.4, and IANA's
 * registry.
 */
const GLOBAL_UNICAST = ipaddr.IPv6.parse('2000::')

/**
 * Returns whether an IP address is on the public internet, as a push service must be: not private, loopback,
 * link-local, shared (RFC 6598), multicast, reserved, or an IPv6 form of such an address.
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false
  const address = ipaddr.process(text)
  if (address instanceof ipaddr.IPv4) return address.range() === 'unicast'
  if (address.match(TRANSLATED, 96)) return isPublicAddress(address.toByteArray().slice(12).join('.'))
  return address.match(GLOBAL_UNICAST, 3) && address.range() === 'unicast'
}

/**
 * Returns whether a host name resolves only in the local network or on this machine. Source: RFC 6761, 6762, 8375;
 * ICANN's `internal`.
 */
export function isLocalName(host: string): boolean {
  return /^[^.]*\.?$|\.(localhost|local|internal|home\.arpa)\.?$/i.test(host)
}

/** Returns whether an IP address is a loopback address, which only this machine can reach. */
export function isLoopback(address: string): boolean {
  return /^(127\.|::1$|::ffff:127\.)/.test(address)
}
