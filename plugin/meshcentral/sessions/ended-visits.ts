import type { Request, RequestHandler } from 'express'
import { cookieSignIn } from '../../host/cookie-session.ts'
import { notePage } from '../pages/open-page.ts'
import type { MeshRequest } from '../server.ts'

/** Which requests came with a session of ours that had ended: whoever sent them is told why nobody is signed in any more. */
export interface EndedVisits {
  /** To be in place before the guard, which lets no such session through. */
  readonly note: RequestHandler
  /** To be asked behind the guard. */
  hasEnded(req: MeshRequest): boolean
}

export function createEndedVisits(): EndedVisits {
  const brought = new WeakSet<Request>()
  return {
    note: (req, _res, next) => {
      const request = req as MeshRequest
      if (request.ws) notePage(request)
      // MeshCentral itself may have taken the user out of it already, but leaves our record there.
      else if (request.xdomain && cookieSignIn(request)?.domainKey === request.xdomain.id) brought.add(request)
      next()
    },
    hasEnded: (req) => brought.has(req) && typeof req.session?.userid !== 'string',
  }
}
