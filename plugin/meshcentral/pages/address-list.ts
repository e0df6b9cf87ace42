import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * Whether an address is in a list of addresses and ranges in CIDR notation, as MeshCentral's `userAllowedIp` and `userBlockedIp` are.
 * IPv4 addresses count as IPv4-mapped IPv6 ones, as they do there. Entries that cannot be read match nothing.
 */
export function isListed(address: string, list: readonly unknown[]): boolean {
  const asked = mapped(address)
  if (!asked) return false
  return list.some((entry) => {
    const range = typeof entry === 'string' ? rangeOf(entry) : undefined
    return range !== undefined && asked.match(range.address, range.bits)
  })
}

function rangeOf(text: string): { readonly address: ipaddr.IPv6; readonly bits: number } | undefined {
  const [name = '', bitsText, ...more] = text.trim().split('/')
  const address = mapped(name)
  if (!address || more.length > 0) return undefined
  if (bitsText === undefined) return { address, bits: 128 }
  const bits = /^\d{1,3}$/.test(bitsText) ? Number(bitsText) + (isIP(name) === 4 ? 96 : 0) : Number.NaN
  return bits <= 128 ? { address, bits } : undefined
}

function mapped(text: string): ipaddr.IPv6 | undefined {
  // Stricter than the library, which also reads `127.1` and `0x7f000001` as addresses.
  if (isIP(text) === 0) return undefined
  // Whatever may stand in a zone, the library takes letters and digits only.
  const address = ipaddr.parse(text.replace(/%.*/s, ''))
  return address instanceof ipaddr.IPv4 ? address.toIPv4MappedAddress() : address
}
