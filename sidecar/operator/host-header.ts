import { isIP } from 'node:net'

/**
 * Returns whether the operator's port answers a request with this `Host` header: loopback, an IP address, or the
 * configured `admin.host`. A web page whose name an attacker lets point at this machine (DNS rebinding) sends that
 * name, and would read the answers as its own. A request without the header comes from no browser: balancers check by
 * HTTP/1.0.
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
