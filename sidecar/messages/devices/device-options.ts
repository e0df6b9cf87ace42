import { isBlockedBy } from './blocked-senders.ts'

/** The options of a device, as its last registration set them. */
export interface DeviceOptions {
  /** Whether the device also gets messages to the other SSIDs of its callsign. */
  readonly anySsid: boolean
  /**
   * Blocked senders, converted by {@link blockedList}. The device does not get their messages. Other devices of the
   * station still get these messages.
   */
  readonly blocked: readonly string[]
  /** Whether the device gets the acks and rejections of messages that the station sent. */
  readonly wantAcks: boolean
}

/** The options of a device that registered without any. */
export const NO_OPTIONS: DeviceOptions = { anySsid: false, blocked: [], wantAcks: false }

/** Whether the device has any option, so that its answers may differ from those to other devices of the station. */
export function hasOptions({ anySsid, blocked, wantAcks }: DeviceOptions): boolean {
  return anySsid || blocked.length > 0 || wantAcks
}

export function isSameOptions(a: DeviceOptions, b: DeviceOptions): boolean {
  // No entry of `blocked` contains a blank. So the joined texts are equal only if the lists are equal.
  return a.anySsid === b.anySsid && a.wantAcks === b.wantAcks && a.blocked.join(' ') === b.blocked.join(' ')
}

/** Whether a device with these options gets a message from the ring of its station. */
export function takes(
  { anySsid, blocked }: DeviceOptions,
  { from, ring }: { readonly from: string; readonly ring?: string },
): boolean {
  return (ring === undefined || anySsid) && !isBlockedBy(blocked, from)
}
