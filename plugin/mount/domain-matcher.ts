import type { Request } from 'express'
import { domainsByHostName } from '../config/domains/host-names.ts'
import type { Host } from '../host/port.ts'

/**
 * Returns a function that finds the domain key of a request: by the host's own rule if it has one, or else by host
 * name. The default domain gets all host names that no other domain has.
 */
export function domainMatcher(config: unknown, host: Host): (req: Request) => string | undefined {
  if (host.domainOf) return host.domainOf.bind(host)
  const byHostName = domainsByHostName(config)
  return (req) => {
    // Express's types promise a host name, but HTTP/1.0 needs no `Host` header. Load balancers send such requests.
    const name: string | undefined = req.hostname
    // A host name may end with a dot. Source: RFC 1034, section 3.1.
    return byHostName.get(name?.toLowerCase().replace(/\.$/, '') ?? '') ?? ''
  }
}
