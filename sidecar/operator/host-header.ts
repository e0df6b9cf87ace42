import { isIP } from 'node:net'

/**
 * Returns whether the operator's port answers a request with this `Host` header: a loopback name, an IP address, or
 * `admin.host`. Other names are refused because of DNS rebinding: an attacker makes the host name of a web page resolve
 * to this machine, and the page then reads the answers. A request without the header is answered: browsers always send
 * it, and load balancers that probe by HTTP/1.0 do not.
 */
export function answersHost(header: string | undefined, adminHost: string): boolean {
  if (header === undefined) return true
  const name = withoutPort(header)
  return isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost') || name === normalized(adminHost)
}

function withoutPort(header: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d*)?$/.exec(header.trim())
  return normalized(bracketed?.[1] ?? header.replace(/:\d*$/, ''))
}

function normalized(name: string): string {
  return name.trim().toLowerCase().replace(/\.$/, '')
}
