import type { Host } from '../host/port.ts'
import type { HostApp } from '../routes/route-table.ts'
import { layersOf } from './router-layers.ts'

/**
 * Refuses stores that each process would have separately, and a missing secret. With these, one process would accept
 * sessions that another one has ended, or could not finish logins that another one began.
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
  if (sessionStoreOf(app)?.constructor?.name === 'MemoryStore') {
    throw new TypeError(
      '`shared: true` needs a session store that all processes share, but express-session uses its MemoryStore, which each process has for itself. Pass it a `store`, such as connect-pg-simple or connect-redis.',
    )
  }
}

/**
 * Returns the store of the express-session middleware that `app` uses. Returns undefined if it cannot be found, for
 * example inside another function. express-session sets the store on each request before it does anything else. So this
 * function passes it a fake request with a setter that captures the store and throws.
 */
function sessionStoreOf(app: HostApp): object | undefined {
  let store: object | undefined
  const request = {
    url: '/',
    headers: {},
    set sessionStore(sessionStore: object) {
      store = sessionStore
      throw new Error('Not a request.')
    },
  }
  for (const { handle } of layersOf(app)) {
    try {
      if (typeof handle === 'function' && handle.name === 'session') handle(request, {}, () => undefined)
    } catch {
      // Ignore the error that the setter throws.
    }
  }
  return store
}
