/** Names of a domain's routes below its base URL, and of the server's own login page there. */
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
 * Whether a server may treat two paths as the same route. By default, Express ignores letter case and a trailing slash.
 * A request for `/LOGOUT/` would reach the server's own route, so the plugin must handle it too.
 */
export function isSameRoute(path: string, route: string): boolean {
  return plainRoute(path) === plainRoute(route)
}

/**
 * Normalizes a path, so that all paths of one route are equal. No regular expression, because one for trailing slashes
 * takes quadratic time for 16,000 slashes that are not at the end.
 */
export function plainRoute(path: string): string {
  let end = path.length
  while (path[end - 1] === '/') end -= 1
  return path.slice(0, end).toLowerCase()
}
