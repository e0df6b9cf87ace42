/** What the routes of a domain are called below its base URL, and the login page that the server itself has there. */
export const ROUTE_NAMES = {
  authorize: 'auth-oidc',
  callback: 'auth-oidc-callback',
  logout: 'logout',
  login: 'login',
  backchannelLogout: 'auth-oidc-backchannel-logout',
  jwks: 'auth-oidc-jwks',
} as const
