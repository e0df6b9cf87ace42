import type { Request, Response } from 'express'
import { LoginError, type LoginErrorCode, MESSAGES, type MessageCode } from '../../errors.ts'
import type { Host } from '../../host/port.ts'
import { causeCode } from '../../log.ts'

/**
 * Ends a login that failed: one line in the authentication log for the administrator, one message of ours for the person.
 * Never rejects, and always answers.
 */
export async function endInFailure(
  host: Host,
  req: Request,
  res: Response,
  domainKey: string,
  error: unknown,
): Promise<void> {
  const failure = error instanceof LoginError ? error : new LoginError('internal', { cause: error })
  logFailure(host, req, domainKey, 'login-failed', failure)
  await showMessage(host, req, res, domainKey, failure.told, failure.code)
}

/** Sends the browser to the login page with a message of ours. Never rejects, and always answers. */
export async function showMessage(
  host: Host,
  req: Request,
  res: Response,
  domainKey: string,
  code: MessageCode,
  reason: LoginErrorCode,
): Promise<void> {
  try {
    await host.loginPage.showFailure(req, res, domainKey, { code, message: MESSAGES[code], reason })
  } catch {
    if (!res.headersSent) res.status(500).type('text/plain').send(MESSAGES[code])
  }
}

/**
 * One line in the authentication log: what failed, for whom, why, and what to mend.
 *
 * @param req null: nobody asked for it
 */
export function logFailure(host: Host, req: Request | null, domainKey: string, event: string, error: LoginError): void {
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
export function clientAddressOf(host: Host, req: Request): { readonly clientAddress?: string } {
  const clientAddress = host.clientAddress ? host.clientAddress(req) : req.ip
  return clientAddress === undefined ? {} : { clientAddress }
}
