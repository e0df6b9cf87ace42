import type { Host } from '../host/port.ts'
import type { HostApp } from '../routes/route-table.ts'

/**
 * One process would take what another one has ended, or could not finish what another one has begun: better not to
 * start.
 */
export function checkShared(app: HostApp, { secret, sessions, accounts, groups }: Host): void {
  if (secret === undefined) {
    throw new TypeError(
      'shared: true needs `host.secret`, the same in all processes. Without it a login that begins at one cannot end at another.',
    )
  }
  if (sessions.revocations?.isShared !== true) {
    throw new TypeError(
      'shared: true needs sessions over a store of revocations that all processes share. Give `expressSessions` or `cookieSessions` `revocations: pgRevocations(pool)` or `redisRevocations(client)`, or a store of your own with `isShared: true`.',
    )
  }
  if (accounts.isShared === false || groups.isShared === false) {
    throw new TypeError(
      'shared: true needs accounts and groups that several processes may write, but `accounts` or `groups` has `isShared: false`. Give `pgAccounts(pool)` and `pgUserGroups(pool)`.',
    )
  }
  if (sessionStoreOf(app)?.constructor?.name === 'MemoryStore') {
    throw new TypeError(
      'shared: true needs a session store that all processes share: that of express-session is its MemoryStore, which each process has for itself. Give it `store`, such as connect-pg-simple or connect-redis.',
    )
  }
}

/**
 * The store of the express-session that is in place on `app`; undefined where none can be seen, as below another
 * function. It tells its store to requests alone, as the first that it does with one: this one goes no further.
 */
function sessionStoreOf(app: HostApp): object | undefined {
  let store: object | undefined
  const request = {
    url: '/',
    headers: {},
    set sessionStore(given: object) {
      store = given
      throw new Error('No request.')
    },
  }
  for (const handle of handlersOf(app)) {
    try {
      if (handle.name === 'session') handle(request, {}, () => undefined)
    } catch {
      // Its own, above.
    }
  }
  return store
}

type Handler = (req: object, res: object, next: () => void) => unknown

/**
 * Express 4 keeps its router at `_router`, and throws for `router`; Express 5 has `router` alone. A router has its
 * stack itself.
 */
function handlersOf(app: HostApp): readonly Handler[] {
  const router: object = Reflect.get(app, Reflect.has(app, 'lazyrouter') ? '_router' : 'router') ?? app
  const stack: unknown = Reflect.get(router, 'stack')
  if (!Array.isArray(stack)) return []
  return stack.flatMap((layer: { readonly handle?: unknown }) =>
    typeof layer.handle === 'function' ? [layer.handle as Handler] : [],
  )
}
