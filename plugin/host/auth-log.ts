import type { Request } from 'express'
import type { LoginError } from '../errors.ts'
import { causeCode, printableFields, printableText } from '../log.ts'
import type { Host } from './port.ts'

/**
 * The same host with an authentication log that nothing from outside can reach uncleaned: many such logs are plain
 * text, where a line break in a name or in an IdP's words would forge a line. A log that throws all the same ends no
 * login.
 */
export function withCleanAuthLog(host: Host): Host {
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
    ...(host.loginTokens ? { loginTokens: host.loginTokens } : {}),
    ...(host.secret === undefined ? {} : { secret: host.secret }),
    ...(host.domainOf ? { domainOf: host.domainOf.bind(host) } : {}),
    ...(host.basePath ? { basePath: host.basePath.bind(host) } : {}),
    ...(host.newAccountsAllowed ? { newAccountsAllowed: host.newAccountsAllowed.bind(host) } : {}),
    ...(host.inMaintenance ? { inMaintenance: host.inMaintenance.bind(host) } : {}),
    ...(host.clientAddress ? { clientAddress: host.clientAddress.bind(host) } : {}),
    ...(host.land ? { land: host.land.bind(host) } : {}),
  }
}

/**
 * One line in the authentication log: what failed, for whom, why, and what to mend.
 *
 * @param req null: nobody asked for it
 */
export function logFailure(
  host: Pick<Host, 'authLog' | 'clientAddress'>,
  req: Request | null,
  domainKey: string,
  event: string,
  error: LoginError,
): void {
  // What broke below: our own code stands in the line anyway.
  const code = causeCode(error.cause)
  const fields = {
    code: error.code,
    ...(req ? clientAddressOf(host, req) : {}),
    ...(code === undefined ? {} : { causeCode: code }),
    ...error.details,
  }
  host.authLog({
    level: error.code === 'internal' || error.code === 'host_failed' ? 'error' : 'warn',
    event,
    message: error.message,
    domain: domainKey,
    fields,
  })
}

/** For a line of the authentication log: who asked, where that is known. */
export function clientAddressOf(host: Pick<Host, 'clientAddress'>, req: Request): { readonly clientAddress?: string } {
  const clientAddress = host.clientAddress ? host.clientAddress(req) : req.ip
  return clientAddress === undefined ? {} : { clientAddress }
}
