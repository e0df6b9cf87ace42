import type { MeshCookie } from '../server.ts'
import type { Work } from './current-work.ts'

/**
 * MeshCentral's age limits for web relay cookies and for sign-in cookies. Only these two kinds of cookies have these
 * limits, so the limit identifies the kind.
 */
const WEB_RELAY_MINUTES = 32
const SIGN_IN_MINUTES = 60
/** The value of `r` in each guest's cookie: the right to remote control. */
const GUEST_RIGHTS = 8
const FILES = 4
const HTTP = 8
const HTTPS = 16
/**
 * Maps a tunnel protocol's number to the bit that the share link must include: terminal, desktop or files. Source:
 * `usages` in MeshCentral's `meshrelay.js`.
 */
const PROTOCOLS: ReadonlyMap<string, number> = new Map([
  ...['1', '6', '8', '9'].map((protocol) => [protocol, 1] as const),
  ['2', 2],
  ...['5', '10'].map((protocol) => [protocol, FILES] as const),
])

/**
 * Whether the cookie is for a guest of a share link. It names the user who shares the device, so most of MeshCentral
 * would treat the guest as that user.
 */
export function isGuestCookie({ a, nid, pid, r }: MeshCookie): boolean {
  // Invitations and links for agents have a member `a` and name no user.
  return a === undefined && (typeof nid === 'string' || typeof pid === 'string' || r === GUEST_RIGHTS)
}

/**
 * Whether a guest's cookie may be used in a request: for a tunnel to the shared device, its files, or the cookie's web
 * relay. MeshCentral checks only the device. It would let any guest fetch files, and open a tunnel to any port of the
 * network behind the device.
 *
 * @param work the request. Undefined for web relays, which `sessionGuard` does not cover
 * @param minutes the cookie's age limit, as MeshCentral passes it
 */
export function admitsGuest(
  { r, p, expire }: MeshCookie,
  work: Work | undefined,
  minutes: number | undefined,
  now: number,
): boolean {
  if (r !== GUEST_RIGHTS || typeof p !== 'number' || (typeof expire === 'number' && expire <= now)) return false
  if (!work) return minutes === WEB_RELAY_MINUTES && (p === HTTP || p === HTTPS)
  // A guest's cookie has the age limit of sign-in cookies. Cookies with other limits come from the device's end of a
  // tunnel.
  if (minutes !== SIGN_IN_MINUTES) return false
  const { path, query, socket } = work
  if (/\/devicefile\.ashx\/?$/i.test(path)) return !socket && (p & FILES) !== 0
  if (!socket || !/\/meshrelay\.ashx\/\.websocket\/?$/i.test(path)) return false
  const shared = typeof query.p === 'string' ? (PROTOCOLS.get(query.p) ?? 0) : 0
  return (p & shared) !== 0 && query.tcpport === undefined && query.udpport === undefined
}
