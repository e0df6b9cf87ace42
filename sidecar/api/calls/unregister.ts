import type { StationClaim } from '../../client/wire/bodies.ts'
import { ApiError } from '../../errors.ts'
import type { Store } from '../../messages/store.ts'
import type { Metrics } from '../../metrics.ts'
import { plainBody } from '../answers/answer.ts'
import type { BodyCheck } from '../requests/schemas.ts'
import { answer, type Call } from './call.ts'
import { claimedStation } from './claim.ts'

interface UnregisterParts {
  readonly check: BodyCheck<StationClaim>
  readonly store: Store
  readonly metrics: Metrics
}

/** `/v1/unregister`: forgets a station and its history. */
export function unregisterCall({ check, store, metrics }: UnregisterParts): Call {
  return async (received) => {
    const key = claimedStation(check(received))
    const outcome = await store.stations.remove(key, { deviceId: '' })
    if (outcome === 'none') throw new ApiError('not_registered')
    if (outcome === 'station') metrics.count('stations_unregistered')
    return answer(plainBody({ serverTime: await store.serverTime.issue() }))
  }
}
