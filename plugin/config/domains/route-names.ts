/** Names of a domain's routes below its base URL. `login` is the host's own login page. */
export const ROUTE_NAMES = {
  authorize: 'auth-oidc',
  callback: 'auth-oidc-callback',
  logout: 'logout',
  login: 'login',
  backchannelLogout: 'auth-oidc-backchannel-logout',
  frontchannelLogout: 'auth-oidc-frontchannel-logout',
  jwks: 'auth-oidc-jwks',
} as const

/**
 * Whether a server may treat two paths as the same route. Express ignores letter case and a trailing slash by default.
 * A request for `/LOGOUT/` would reach the server's own route, so the plugin must handle that spelling too.
 */
export function isSameRoute(path: string, route: string): boolean {
  return plainRoute(path) === plainRoute(route)
}

/**
 * Normalizes a path, so that all spellings of a route become equal. Avoids a regular expression, because one for
 * trailing slashes takes quadratic time on a path with 16,000 slashes before its end.
 */
export function plainRoute(path: string): string {
  let end = path.length
  while (path[end - 1] === '/') end -= 1
  return path.slice(0, end).toLowerCase()
}
