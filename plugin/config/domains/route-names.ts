/** What the routes of a domain are called below its base URL, and the login page that the server itself has there. */
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
 * Whether a server may take a request to that path to the route at the other: Express does, unless it is told
 * otherwise, in any letter case and with a slash at the end. Who leaves by `/LOGOUT/` reaches the server's own route,
 * so it has to be ours too.
 */
export function isSameRoute(path: string, route: string): boolean {
  return plainRoute(path) === plainRoute(route)
}

/**
 * The same for all paths of one route. By hand: an expression for slashes at an end takes the square of their number
 * where there are 16,000 and no end.
 */
export function plainRoute(path: string): string {
  let end = path.length
  while (path[end - 1] === '/') end -= 1
  return path.slice(0, end).toLowerCase()
}
