import type { Request, Response } from 'express'
import { LoginError, type LoginErrorCode, MESSAGES, type MessageCode } from '../../errors.ts'
import { logFailure } from '../../host/auth-log.ts'
import type { Host } from '../../host/port.ts'

/**
 * Ends a failed login. Writes one line to the authentication log and shows the user one message. Never rejects, and
 * always sends a response.
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

/** Redirects the browser to the login page with one of {@link MESSAGES}. Never rejects, and always sends a response. */
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
