import { isIP } from 'node:net'
import type { RequestHandler } from 'express'
import ipaddr from 'ipaddr.js'
import {
  type Members,
  type MeshDomain,
  type MeshRequest,
  type MeshServer,
  type MeshWeb,
  meshRequest,
} from '../server.ts'

export interface GateOptions {
  readonly server: MeshServer
  readonly web: MeshWeb
  /**
   * Whether the request is the browser's return from the IdP. Such a request needs no login key, because the key was
   * checked when the login began.
   */
  readonly isAnswer: (req: MeshRequest) => boolean
}

/**
 * Applies MeshCentral's rules for sign-in to each route of a login: address lists, login key and required header. Not
 * the limit on wrong passwords, with which an attacker could block all users with the same IP address.
 */
export function loginGate({ server, web, isAnswer }: GateOptions): RequestHandler {
  return (req, res, next) => {
    const request = meshRequest(req)
    const domain = request.xdomain
    if (!domain) {
      res.sendStatus(404)
      return
    }
    const refusing = [server.config.settings, domain].find((rules) => !admitsAddress(rules, request.clientIp))
    if (refusing) {
      web.blockedUsers += 1
      const redirect = refusing.ipblockeduserredirect
      if (typeof redirect === 'string') res.redirect(redirect)
      else res.sendStatus(401)
      return
    }
    if (!hasRequiredHeader(domain, request) || (!isAnswer(request) && loginKeyOf(domain, request.query.key) === null)) {
      res.sendStatus(404)
      return
    }
    next()
  }
}

/**
 * Checks an IP address by the list of blocked addresses and the list of allowed ones. If there is a list of allowed
 * addresses, an unknown address is refused.
 */
export function admitsAddress({ userblockedip, userallowedip }: Members, address: string | undefined): boolean {
  const isIn = (list: unknown) => address !== undefined && isListed(address, Array.isArray(list) ? list : [list])
  const isSet = (list: unknown) => list !== undefined && list !== null
  if (isSet(userblockedip) && isIn(userblockedip)) return false
  return !isSet(userallowedip) || isIn(userallowedip)
}

/**
 * Returns the login key of a request: undefined if the domain needs none, null if the key is not one of the domain's.
 *
 * @param key the request's `key` parameter
 */
export function loginKeyOf({ loginkey }: MeshDomain, key: unknown): string | null | undefined {
  if (loginkey === undefined || loginkey === null) return undefined
  const keys: readonly unknown[] = Array.isArray(loginkey) ? loginkey : [loginkey]
  return typeof key === 'string' && keys.includes(key) ? key : null
}

function hasRequiredHeader({ userrequiredhttpheader }: MeshDomain, { headers }: MeshRequest): boolean {
  if (typeof userrequiredhttpheader !== 'object' || userrequiredhttpheader === null) return true
  return Object.entries(userrequiredhttpheader).some(([name, value]) => headers[name.toLowerCase()] === value)
}

/**
 * Whether an address is in a list of addresses and CIDR ranges. As in MeshCentral, IPv4 counts as IPv4-mapped IPv6.
 * Unreadable entries match nothing.
 */
export function isListed(address: string, list: readonly unknown[]): boolean {
  const ip = mapped(address)
  if (!ip) return false
  return list.some((entry) => {
    const range = typeof entry === 'string' ? rangeOf(entry) : undefined
    return range !== undefined && ip.match(range.address, range.bits)
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
  // Refuse abbreviated addresses such as `127.1` and `0x7f000001`, which the library would accept.
  if (isIP(text) === 0) return undefined
  // Remove the zone of an IPv6 address (such as `%eth0`). The library accepts only letters and digits in a zone.
  const address = ipaddr.parse(text.replace(/%.*/s, ''))
  return address instanceof ipaddr.IPv4 ? address.toIPv4MappedAddress() : address
}
