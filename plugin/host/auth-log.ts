import { printableFields, printableText } from '../log.ts'
import type { Host } from './port.ts'

/**
 * The same host with an authentication log that nothing from outside can reach uncleaned: many such logs are plain text, where a
 * line break in a name or in an IdP's words would forge a line. A log that throws all the same ends no login.
 */
export function withGuardedAuthLog(host: Host): Host {
  const { accounts, groups, sessions, loginPage } = host
  return {
    accounts,
    groups,
    sessions,
    loginPage,
    authLog: (entry) => {
      try {
        host.authLog({ ...entry, message: printableText(entry.message), fields: printableFields(entry.fields) })
      } catch {
        // The host's own fault, and the host has no other place to be told of it.
      }
    },
    ...(host.secret === undefined ? {} : { secret: host.secret }),
    ...(host.domainOf ? { domainOf: host.domainOf.bind(host) } : {}),
    ...(host.basePath ? { basePath: host.basePath.bind(host) } : {}),
    ...(host.newAccountsAllowed ? { newAccountsAllowed: host.newAccountsAllowed.bind(host) } : {}),
    ...(host.inMaintenance ? { inMaintenance: host.inMaintenance.bind(host) } : {}),
    ...(host.clientAddress ? { clientAddress: host.clientAddress.bind(host) } : {}),
    ...(host.land ? { land: host.land.bind(host) } : {}),
  }
}
