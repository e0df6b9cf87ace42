import { isBlockedBy } from './blocked-senders.ts'

/** The options of a device, as its last registration set them. */
export interface DeviceOptions {
  /** Whether the device also gets messages to the other SSIDs of its callsign. */
  readonly anySsid: boolean
  /**
   * Senders whose messages the device does not get, in the form of {@link blockedList}. Other devices of the station
   * get these messages.
   */
  readonly blocked: readonly string[]
  /** Whether the device gets the acks and rejections of messages that the station sent. */
  readonly wantAcks: boolean
}

/** The options of a device that registered without any. */
export const NO_OPTIONS: DeviceOptions = { anySsid: false, blocked: [], wantAcks: false }

/** Whether the device gets other answers than a device of its station without options. */
export function hasOptions({ anySsid, blocked, wantAcks }: DeviceOptions): boolean {
  return anySsid || blocked.length > 0 || wantAcks
}

export function isSameOptions(a: DeviceOptions, b: DeviceOptions): boolean {
  // No entry contains a blank.
  return a.anySsid === b.anySsid && a.wantAcks === b.wantAcks && a.blocked.join(' ') === b.blocked.join(' ')
}

/** Whether a device with these options gets a message of its station's ring. */
export function takes(
  { anySsid, blocked }: DeviceOptions,
  { from, ring }: { readonly from: string; readonly ring?: string },
): boolean {
  return (ring === undefined || anySsid) && !isBlockedBy(blocked, from)
}
