/**
 * How a try to notify a device ended: the kind of the push gateway's answer, or `gateway_off` if no gateway is
 * configured for the device's platform.
 */
export type PushResultKind =
  | 'accepted'
  | 'token_gone'
  | 'try_later'
  | 'phone_away'
  | 'unauthorized'
  | 'refused'
  | 'gateway_off'

/** The result of the last try to notify a device, as the operator sees it. */
export interface PushResult {
  /** Wall-clock time in milliseconds since 1970. */
  readonly at: number
  readonly outcome: PushResultKind
  /** The gateway's reason; null if it accepted the notification. Never has the push token. */
  readonly reason: string | null
}
