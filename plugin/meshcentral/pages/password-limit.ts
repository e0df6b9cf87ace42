import { replaceFunction } from '../replaced-functions.ts'
import type { MeshRequest, MeshWeb } from '../server.ts'
import { ownSession } from '../sessions/sessions.ts'

/**
 * Lets pages of the plugin's sessions open sockets from an address that sent too many wrong passwords. Otherwise an
 * attacker at a user's address could make all pages useless. Sockets that send a password are still refused.
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
