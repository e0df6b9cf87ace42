/**
 * The outcome of a try to notify a device: the kind of the push gateway's answer. `gateway_off` means that no gateway
 * is configured for the device's platform.
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
  /** The gateway's reason; null if it accepted the notification. It never contains the push token. */
  readonly reason: string | null
}
