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
 * Whether two paths are one route. Express ignores case and a trailing slash, so `/LOGOUT/` could reach the server's
 * own `/logout`.
 */
export function isSameRoute(path: string, route: string): boolean {
  return plainRoute(path) === plainRoute(route)
}

/** Returns the normal form of a route's path. A regular expression would take quadratic time on 16,000 slashes. */
export function plainRoute(path: string): string {
  let end = path.length
  while (path[end - 1] === '/') end -= 1
  return path.slice(0, end).toLowerCase()
}
