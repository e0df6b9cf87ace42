import type { Request } from 'express'
import { domainsByHostName } from '../config/domains/host-names.ts'
import type { Host } from '../host/port.ts'

/**
 * Returns a function that finds the domain key of a request. It uses the host's own rule, or else the host name. The
 * default domain gets all host names that belong to no other domain.
 */
export function domainMatcher(config: unknown, host: Host): (req: Request) => string | undefined {
  if (host.domainOf) return host.domainOf.bind(host)
  const byHostName = domainsByHostName(config)
  return (req) => {
    // Express's types promise a host name. But HTTP/1.0 requests need no `Host` header, and load balancers send such
    // requests.
    const name: string | undefined = req.hostname
    // Remove a dot at the end, because a host name may have one. Source: RFC 1034, section 3.1.
    return byHostName.get(name?.toLowerCase().replace(/\.$/, '') ?? '') ?? ''
  }
}
