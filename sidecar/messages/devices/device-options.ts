import { isBlockedBy } from './blocked-senders.ts'

/** The options of a device, as its last registration set them. */
export interface DeviceOptions {
  /**
   * Senders whose messages the device does not get, in the form of {@link blockedList}. Other devices of the station get
   * these messages.
   */
  readonly blocked: readonly string[]
}

/** The options of a device that registered without any. */
export const NO_OPTIONS: DeviceOptions = { blocked: [] }

/** Whether the device gets other messages than a device of its station without options. */
export function hasOptions({ blocked }: DeviceOptions): boolean {
  return blocked.length > 0
}

export function isSameOptions(a: DeviceOptions, b: DeviceOptions): boolean {
  return a.blocked.length === b.blocked.length && a.blocked.every((entry, index) => entry === b.blocked[index])
}

/** Whether a device with these options gets a message of its station's ring. */
export function takes({ blocked }: DeviceOptions, { from }: { readonly from: string }): boolean {
  return !isBlockedBy(blocked, from)
}
