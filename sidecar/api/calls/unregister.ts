import type { DeviceClaim } from '../../client/wire/bodies.ts'
import { ApiError } from '../../errors.ts'
import type { Store } from '../../messages/store.ts'
import type { Metrics } from '../../metrics.ts'
import { plainBody } from '../answers/answer.ts'
import type { BodyCheck } from '../requests/schemas.ts'
import { answer, type Call } from './call.ts'
import { claimedDevice, claimedStation } from './claim.ts'

interface UnregisterParts {
  readonly check: BodyCheck<DeviceClaim>
  readonly store: Store
  readonly metrics: Metrics
}

/** `/v1/unregister`: forgets a device, and with a station's last one the station and its history. */
export function unregisterCall({ check, store, metrics }: UnregisterParts): Call {
  return async (received) => {
    const body = check(received)
    const outcome = await store.stations.remove(claimedStation(body), { deviceId: claimedDevice(body) })
    if (outcome === 'none') throw new ApiError('not_registered')
    if (outcome === 'station') metrics.count('stations_unregistered')
    return answer(plainBody({ serverTime: await store.serverTime.issue() }))
  }
}
