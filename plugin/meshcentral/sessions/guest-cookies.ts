import type { MeshCookie } from '../server.ts'
import type { Work } from './current-work.ts'

/**
 * Limits that MeshCentral opens the cookie of a web relay with, and that by which somebody signs in. Each is used for
 * nothing else there.
 */
const WEB_RELAY_MINUTES = 32
const SIGN_IN_MINUTES = 60
/** Rights that each cookie of a guest bears: remote control. */
const GUEST_RIGHTS = 8
const FILES = 4
const HTTP = 8
const HTTPS = 16
/**
 * Protocols of a tunnel by what is shared: terminal, desktop, files. Source: `usages` in MeshCentral's `meshrelay.js`.
 */
const PROTOCOLS: ReadonlyMap<string, number> = new Map([
  ...['1', '6', '8', '9'].map((protocol) => [protocol, 1] as const),
  ['2', 2],
  ...['5', '10'].map((protocol) => [protocol, FILES] as const),
])

/**
 * Whether MeshCentral made the cookie for a guest of a share link. It names the user who shares, so every other place
 * of MeshCentral takes the guest for that user. Invitations and links for agents bear `a`, and name nobody.
 */
export function isGuestCookie({ a, nid, pid, r }: MeshCookie): boolean {
  return a === undefined && (typeof nid === 'string' || typeof pid === 'string' || r === GUEST_RIGHTS)
}

/**
 * Whether a guest's cookie may be opened: for a tunnel to the shared device, for its files, or for the web relay that
 * it was made for. MeshCentral itself replaces the device that the request names by the one in the cookie, but it lets
 * the guest of any share fetch files, and ask for a tunnel to any port of the network behind the device.
 *
 * @param here undefined where the request is unknown: web relays have a server or host name of their own, in front of
 *   which nothing of ours stands. All else is refused there
 * @param minutes limit that MeshCentral opens the cookie with
 */
export function admitsGuest(
  { r, p, expire }: MeshCookie,
  here: Work | undefined,
  minutes: number | undefined,
  now: number,
): boolean {
  if (r !== GUEST_RIGHTS || typeof p !== 'number' || (typeof expire === 'number' && expire <= now)) return false
  if (!here) return minutes === WEB_RELAY_MINUTES && (p === HTTP || p === HTTPS)
  // As the device's end of a tunnel, for one, a guest never comes.
  if (minutes !== SIGN_IN_MINUTES) return false
  const { path, query, socket } = here
  if (/\/devicefile\.ashx\/?$/i.test(path)) return !socket && (p & FILES) !== 0
  if (!socket || !/\/meshrelay\.ashx\/\.websocket\/?$/i.test(path)) return false
  const shared = typeof query.p === 'string' ? (PROTOCOLS.get(query.p) ?? 0) : 0
  return (p & shared) !== 0 && query.tcpport === undefined && query.udpport === undefined
}
