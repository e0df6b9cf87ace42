import type { Request } from 'express'
import { domainsByHostName } from '../config/domains/host-names.ts'
import type { Host } from '../host/port.ts'

/**
 * Returns a function that finds a request's domain key by the host's `domainOf`, or else by host name. Other names
 * belong to the default domain.
 */
export function domainMatcher(config: unknown, host: Host): (req: Request) => string | undefined {
  if (host.domainOf) return host.domainOf.bind(host)
  const byHostName = domainsByHostName(config)
  return (req) => {
    // The host name may be undefined, although Express's types exclude that: load balancers send HTTP/1.0 requests
    // without a `Host` header.
    const name: string | undefined = req.hostname
    // Remove a dot at the end, because a host name may have one. Source: RFC 1034, section 3.1.
    return byHostName.get(name?.toLowerCase().replace(/\.$/, '') ?? '') ?? ''
  }
}
