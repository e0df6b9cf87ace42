import { isIP } from 'node:net'

/**
 * Returns whether the operator's port answers this `Host` header: loopback, an IP address, or `admin.host`. With other
 * names, a web page could read the answers (DNS rebinding). HTTP/1.0 probes may omit the header; browsers always send
 * it.
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
