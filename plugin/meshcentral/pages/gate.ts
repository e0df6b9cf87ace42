import { isIP } from 'node:net'
import type { RequestHandler } from 'express'
import ipaddr from 'ipaddr.js'
import type { Members, MeshDomain, MeshRequest, MeshServer, MeshWeb } from '../server.ts'

export interface GateOptions {
  readonly server: MeshServer
  readonly web: MeshWeb
  /** Whether a request comes back from the IdP: its login began here, so it has passed the rules for links once. */
  readonly isAnswer: (req: MeshRequest) => boolean
}

/**
 * What MeshCentral asks of everybody who wants to sign in, before any route of a login: its own routes ask it each for
 * themselves. Addresses first, then the login key and the required header. Its limit on wrong passwords is not asked:
 * none is sent here, and whoever guesses passwords must not stop the logins and logouts of all others behind the same
 * address.
 */
export function loginGate({ server, web, isAnswer }: GateOptions): RequestHandler {
  return (req, res, next) => {
    const request = req as MeshRequest
    const domain = request.xdomain
    if (!domain) {
      res.sendStatus(404)
      return
    }
    const refused = [server.config.settings, domain].find((rules) => !admitsAddress(rules, request.clientIp))
    if (refused) {
      web.blockedUsers += 1
      const elsewhere = refused.ipblockeduserredirect
      if (typeof elsewhere === 'string') res.redirect(elsewhere)
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

/** Both lists of the server or of a domain. An address that is unknown passes no list of allowed ones. */
export function admitsAddress({ userblockedip, userallowedip }: Members, address: string | undefined): boolean {
  const isIn = (list: unknown) => address !== undefined && isListed(address, Array.isArray(list) ? list : [list])
  const isSet = (list: unknown) => list !== undefined && list !== null
  if (isSet(userblockedip) && isIn(userblockedip)) return false
  return !isSet(userallowedip) || isIn(userallowedip)
}

/**
 * The login key of a request that a domain asks for: `undefined` when it asks for none, null when the key is not one of
 * its keys.
 */
export function loginKeyOf({ loginkey }: MeshDomain, given: unknown): string | null | undefined {
  if (loginkey === undefined || loginkey === null) return undefined
  const keys: readonly unknown[] = Array.isArray(loginkey) ? loginkey : [loginkey]
  return typeof given === 'string' && keys.includes(given) ? given : null
}

function hasRequiredHeader({ userrequiredhttpheader }: MeshDomain, { headers }: MeshRequest): boolean {
  if (typeof userrequiredhttpheader !== 'object' || userrequiredhttpheader === null) return true
  return Object.entries(userrequiredhttpheader).some(([name, value]) => headers[name.toLowerCase()] === value)
}

/**
 * Whether an address is in a list of addresses and ranges in CIDR notation, as MeshCentral's `userAllowedIp` and
 * `userBlockedIp` are. IPv4 addresses count as IPv4-mapped IPv6 ones, as they do there. Entries that cannot be read
 * match nothing.
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
