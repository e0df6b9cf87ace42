import { SITE_ADMIN } from '../server.ts'

/** MeshCentral's masks of rights: bits that permit something, and bits that limit what others permit. */
interface Mask {
  /** The bits that limit. */
  readonly limits: number
  /** Which of these limit remote control; they mean nothing without {@link Mask.control}. */
  readonly controlLimits: number
  readonly control: number
}

/** View only, no terminal, no files, no Intel AMT, limited input, no desktop; and limited events. */
const DEVICES: Mask = { limits: 0x13f00, controlLimits: 0x11f00, control: 0x8 }
/** No new device groups, no tools, locked settings, no new devices. */
const SITE: Mask = { limits: 0x14c0, controlLimits: 0, control: 0 }
const ALL = 0xffffffff
const LOCKED = 0x20

/**
 * Merges two masks of rights on a device group or a device. The result permits what one of them permits, with the
 * limits that hold in each mask that permits it: it never permits what neither of the two does.
 */
export function mergeDeviceRights(first: number | undefined, second: number | undefined): number {
  return merge(first, second, DEVICES)
}

/** Merges two masks of rights on the server. An account stays locked only by its own mask, which is `second`. */
export function mergeSiteRights(first: number | undefined, second: number | undefined): number {
  const unlocked = first === SITE_ADMIN ? first : (first ?? 0) & ~LOCKED
  return merge(unlocked, second ?? 0, SITE)
}

/** What stays of a mask of rights on the server when they move away: the limits. */
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
