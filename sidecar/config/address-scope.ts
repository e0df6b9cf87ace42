import ipaddr from 'ipaddr.js'

/** IPv4 addresses as a translator shows them to machines without IPv4 (NAT64). Source: RFC 6052, 2.1. */
const TRANSLATED = ipaddr.IPv6.parse('64:ff9b::')
/** All that was ever given out as public. Source: RFC 4291, 2.4; the registry of IANA. */
const GLOBAL_UNICAST = ipaddr.IPv6.parse('2000::')

/**
 * Whether an IP address is one of the public internet, which is where a push service is. Anything else, whatever it may
 * be, is not: private, loopback, link-local, shared (RFC 6598), multicast, reserved, and IPv4 addresses wrapped into
 * IPv6 ones of that kind.
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false
  const address = ipaddr.process(text)
  if (address instanceof ipaddr.IPv4) return address.range() === 'unicast'
  if (address.match(TRANSLATED, 96)) return isPublicAddress(address.toByteArray().slice(12).join('.'))
  return address.match(GLOBAL_UNICAST, 3) && address.range() === 'unicast'
}

/**
 * Names that are answered from the own network or machine, never from the public internet. Source: RFC 6761, 6762,
 * 8375; ICANN's `internal`.
 */
export function isLocalName(host: string): boolean {
  return /^[^.]*\.?$|\.(localhost|local|internal|home\.arpa)\.?$/i.test(host)
}

/** Only this machine can reach the IP address. */
export function isLoopback(address: string): boolean {
  return /^(127\.|::1$|::ffff:127\.)/.test(address)
}
