import type { Host } from '../host/port.ts'
import type { HostApp } from '../routes/route-table.ts'
import { layersOf } from './router-layers.ts'

/**
 * Refuses parts that each process would have for itself. With them, one process accepts sessions that another one has
 * ended, or cannot finish logins that another one began.
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
 * Returns the store of the express-session that `app` uses; undefined if none can be seen, for example inside another
 * function. express-session shows its store only to requests, before it does anything else with them. So it gets a
 * request that stops it there.
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
      // The error above.
    }
  }
  return store
}
