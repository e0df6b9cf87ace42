import { replaceFunction } from '../replaced-functions.ts'
import type { MeshRequest, MeshWeb } from '../server.ts'
import { ownSession } from '../sessions/sessions.ts'

/**
 * Lets the pages of the plugin's sessions open web sockets from an address that sent too many wrong passwords.
 * MeshCentral refuses all sockets from such an address. An attacker who guesses passwords may have the same address as
 * a user of the plugin. That user could then sign in, but could use no page. A socket that sends a password is still
 * refused, even if it has a session.
 */
export function keepSocketsOpen(web: Pick<MeshWeb, 'checkAllowLogin'>): void {
  replaceFunction(
    'web.checkAllowLogin',
    web,
    'checkAllowLogin',
    (checkAllowLogin) => (req) => checkAllowLogin(req) || isSocketOfPage(req),
  )
}

function isSocketOfPage(req: MeshRequest): boolean {
  if (!req.ws || req.headers['x-meshauth'] !== undefined) return false
  return req.query.user === undefined && req.query.pass === undefined && ownSession(req) !== undefined
}
