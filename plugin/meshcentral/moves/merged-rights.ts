import { SITE_ADMIN } from '../server.ts'

/** The bits of a rights mask of MeshCentral. Most bits permit something; some limit what other bits permit. */
interface Mask {
  /** The bits that limit, such as "no terminal". */
  readonly limits: number
  /** The limits that apply to remote control only. They have no effect without {@link Mask.control}. */
  readonly controlLimits: number
  readonly control: number
}

/**
 * The rights on devices. Limits: view only, no terminal, no files, no Intel AMT, limited input, no desktop, limited
 * events.
 */
const DEVICES: Mask = { limits: 0x13f00, controlLimits: 0x11f00, control: 0x8 }
/** The rights on the server. Limits: no new device groups, no tools, locked settings, no new devices. */
const SITE: Mask = { limits: 0x14c0, controlLimits: 0, control: 0 }
const ALL = 0xffffffff
const LOCKED = 0x20

/**
 * Merges two masks of rights on a device group or a device. The result permits what either permits. A limit stays if
 * both have it. For remote control, only masks that permit it count.
 */
export function mergeDeviceRights(first: number | undefined, second: number | undefined): number {
  return merge(first, second, DEVICES)
}

/**
 * Merges the server rights of the old account (`first`) into those of the new account (`second`). A lock of the old
 * account does not lock the new one.
 */
export function mergeSiteRights(first: number | undefined, second: number | undefined): number {
  const unlocked = first === SITE_ADMIN ? first : (first ?? 0) & ~LOCKED
  return merge(unlocked, second ?? 0, SITE)
}

/** Returns what remains of the old account's server rights after a move: the limits and the lock. */
export function siteLimits(rights: number | undefined): number {
  return rights === SITE_ADMIN ? 0 : (rights ?? 0) & (SITE.limits | LOCKED)
}

function merge(
  first: number | undefined,
  second: number | undefined,
  { limits, controlLimits, control }: Mask,
): number {
  if (first === undefined) return second ?? 0
  if (second === undefined) return first
  if (first === ALL || second === ALL) return ALL
  const permits = (first | second) & ~limits
  const both = first & second & limits & ~controlLimits
  const controlling = [first, second].filter((rights) => (rights & control) !== 0)
  const ofControl = controlling.reduce((common, rights) => common & rights, controlLimits)
  return (permits | both | (controlling.length > 0 ? ofControl : 0)) >>> 0
}
