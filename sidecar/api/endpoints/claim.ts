import { passcodeMatches } from '../../aprs/passcode.ts'
import { stationKey } from '../../aprs/station.ts'
import type { DeviceClaim, StationClaim } from '../../client/wire/bodies.ts'
import { ApiError } from '../../errors.ts'
import type { DeviceId, StationKey } from '../../messages/store.ts'

/**
 * Returns the station that a request names, after checking the passcode. Before this check, an answer must not reveal
 * anything about a station.
 */
export function claimedStation({ callsign, ssid, auth }: StationClaim): StationKey {
  const outcome = stationKey(callsign, ssid)
  if (outcome.kind === 'invalid')
    throw new ApiError('invalid_request', [{ path: outcome.member, reason: outcome.reason }])
  if (!passcodeMatches(outcome.key, auth)) throw new ApiError('wrong_passcode')
  return outcome.key
}

/** Returns the id of the device that sent the request; empty if the device has none. */
export function claimedDevice({ deviceId }: DeviceClaim): DeviceId {
  return deviceId ?? ''
}

/** Returns the cursor of a request. A negative cursor requests all messages, as 0 does, because stamps start at 1. */
export function claimedCursor(since: number): number {
  return Math.max(0, since)
}
