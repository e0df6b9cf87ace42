import { passcodeMatches } from '../../aprs/passcode.ts'
import { stationKey } from '../../aprs/station.ts'
import type { DeviceClaim, StationClaim } from '../../client/wire/bodies.ts'
import { ApiError } from '../../errors.ts'
import type { DeviceId, StationKey } from '../../messages/store.ts'

/** The station that a call is for, once it has shown its passcode; before that, nothing is said of any station. */
export function claimedStation({ callsign, ssid, auth }: StationClaim): StationKey {
  const outcome = stationKey(callsign, ssid)
  if (outcome.kind === 'invalid')
    throw new ApiError('invalid_request', [{ path: outcome.member, reason: outcome.reason }])
  if (!passcodeMatches(outcome.key, auth)) throw new ApiError('wrong_passcode')
  return outcome.key
}

/** Which of the station's devices calls. */
export function claimedDevice({ deviceId }: DeviceClaim): DeviceId {
  return deviceId ?? ''
}

/** The cursor that a call brings. A negative one asks for everything, as 0 does: no message has a stamp below 1. */
export function claimedCursor(since: number): number {
  return Math.max(0, since)
}
