/**
 * Whether a server may take a request to that path to the route at the other: Express does, unless it is told otherwise, in any letter
 * case and with a slash at the end. Who leaves by `/LOGOUT/` reaches the server's own route, so it has to be ours too.
 */
export function isSameRoute(path: string, route: string): boolean {
  const plain = (one: string) => one.toLowerCase().replace(/\/+$/, '')
  return plain(path) === plain(route)
}
