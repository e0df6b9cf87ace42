import type { MeshRequest, MeshWeb } from '../server.ts'
import { ownSession } from '../sessions/sessions.ts'

/**
 * Lets the pages of our sessions open their web sockets from an address that sent too many wrong passwords. MeshCentral
 * refuses all sockets from there, so whoever shares the address with a guesser could sign in but work with no page. A
 * socket that brings a password is still refused, with a session or without.
 */
export function keepSocketsOpen(web: Pick<MeshWeb, 'checkAllowLogin'>): void {
  const { checkAllowLogin } = web
  web.checkAllowLogin = (req) => checkAllowLogin.call(web, req) || isSocketOfPage(req as MeshRequest)
}

function isSocketOfPage(req: MeshRequest): boolean {
  if (!req.ws || req.headers['x-meshauth'] !== undefined) return false
  return req.query.user === undefined && req.query.pass === undefined && ownSession(req) !== undefined
}
