import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Host } from '../host/port.ts'
import type { HostApp } from '../routes/route-table.ts'
import { layersOf } from './router-layers.ts'

/**
 * Refuses stores that processes do not share, and a missing secret. Otherwise ended sessions would stay valid in other
 * processes.
 *
 * @throws TypeError
 */
export function checkShared(app: HostApp, { secret, sessions, accounts, groups }: Host): void {
  if (secret === undefined) {
    throw new TypeError(
      '`shared: true` needs `host.secret`, the same in all processes. Without it, a login that begins in one process cannot end in another.',
    )
  }
  if (sessions.revocations?.isShared !== true) {
    throw new TypeError(
      '`shared: true` needs sessions with a revocation store that all processes share. Pass `revocations: pgRevocations(pool)` or `redisRevocations(client)` to `expressSessions` or `cookieSessions`, or your own store with `isShared: true`.',
    )
  }
  if (accounts.isShared === false || groups.isShared === false) {
    throw new TypeError(
      '`shared: true` needs accounts and groups that several processes can write, but `host.accounts` or `host.groups` has `isShared: false`. Use `pgAccounts(pool)` and `pgUserGroups(pool)`.',
    )
  }
  if (isMemoryStore(sessionStoreOf(app))) {
    throw new TypeError(
      '`shared: true` needs a session store that all processes share, but express-session uses its MemoryStore, which each process has for itself. Pass it a `store`, such as connect-pg-simple or connect-redis.',
    )
  }
}

/** Whether the store is express-session's MemoryStore, by name, because the server loads its own copy of the class. */
function isMemoryStore(store: object | undefined): boolean {
  return store?.constructor?.name === 'MemoryStore'
}

/**
 * Returns the store of the express-session middleware in `app`. Undefined if it is not found, for example inside
 * another function.
 */
function sessionStoreOf(app: HostApp): object | undefined {
  for (const { handle } of layersOf(app)) {
    if (typeof handle !== 'function' || handle.name !== 'session') continue
    // The middleware sets `sessionStore` on each request. It saves nothing, because this request never gets an answer.
    const request: IncomingMessage & { sessionStore?: object } = new IncomingMessage(new Socket())
    request.url = '/'
    try {
      handle(request, new ServerResponse(request), () => undefined)
    } catch {
      // Ignore the error. This middleware has the same name as express-session's, but is another one that needs a real
      // request.
    }
    if (request.sessionStore) return request.sessionStore
  }
  return undefined
}
