import type { Request } from 'express'
import type { LoginError } from '../errors.ts'
import { causeCode, printableFields, printableText } from '../log.ts'
import type { Host } from './port.ts'

/**
 * Removes line breaks and control characters from the authentication log, because a user's name could forge a line
 * there. If the log throws, the login continues.
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
        // Ignore the error. The host's log is the only place to report it, and that log failed.
      }
    },
    ...(host.loginTokens ? { loginTokens: host.loginTokens } : {}),
    ...(host.secret === undefined ? {} : { secret: host.secret }),
    ...(host.domainOf ? { domainOf: host.domainOf.bind(host) } : {}),
    ...(host.basePath ? { basePath: host.basePath.bind(host) } : {}),
    ...(host.newAccountsAllowed ? { newAccountsAllowed: host.newAccountsAllowed.bind(host) } : {}),
    ...(host.inMaintenance ? { inMaintenance: host.inMaintenance.bind(host) } : {}),
    ...(host.noteRefusal ? { noteRefusal: host.noteRefusal.bind(host) } : {}),
    ...(host.clientAddress ? { clientAddress: host.clientAddress.bind(host) } : {}),
    ...(host.land ? { land: host.land.bind(host) } : {}),
  }
}

/**
 * Logs a failure with its cause and remedy to the authentication log.
 *
 * @param req the failed request, or null
 */
export function logFailure(
  host: Pick<Host, 'authLog' | 'clientAddress'>,
  req: Request | null,
  domainKey: string,
  event: string,
  error: LoginError,
): void {
  // The code of the underlying error, such as ECONNREFUSED. The log field `code` has the plugin's own error code.
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

/** Returns the client's address as a field for the authentication log, or no field if the address is unknown. */
export function clientAddressOf(host: Pick<Host, 'clientAddress'>, req: Request): { readonly clientAddress?: string } {
  const clientAddress = host.clientAddress ? host.clientAddress(req) : req.ip
  return clientAddress === undefined ? {} : { clientAddress }
}
