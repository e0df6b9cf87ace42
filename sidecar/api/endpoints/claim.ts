import { passcodeMatches } from '../../aprs/passcode.ts'
import { stationKey } from '../../aprs/station.ts'
import type { DeviceClaim, StationClaim } from '../../client/wire/bodies.ts'
import { ApiError } from '../../errors.ts'
import type { DeviceId, StationKey } from '../../messages/store.ts'

/**
 * Returns the station of a request after checking its passcode. Until then an answer reveals nothing of any station.
 */
export function claimedStation({ callsign, ssid, auth }: StationClaim): StationKey {
  const outcome = stationKey(callsign, ssid)
  if (outcome.kind === 'invalid')
    throw new ApiError('invalid_request', [{ path: outcome.member, reason: outcome.reason }])
  if (!passcodeMatches(outcome.key, auth)) throw new ApiError('wrong_passcode')
  return outcome.key
}

/** Returns which of the station's devices sent the request. */
export function claimedDevice({ deviceId }: DeviceClaim): DeviceId {
  return deviceId ?? ''
}

/** Returns the cursor of a request. A negative one asks for everything, as 0 does: every stamp is at least 1. */
export function claimedCursor(since: number): number {
  return Math.max(0, since)
}
