import type { UnregisterBody } from '../../client/wire/bodies.ts'
import { ApiError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import type { RemoveOutcome, StationKey, Store } from '../../messages/store.ts'
import type { Metrics } from '../../metrics.ts'
import { plainBody } from '../answers/answer.ts'
import type { BodyCheck } from '../requests/schemas.ts'
import { claimedDevice, claimedStation } from './claim.ts'
import { answer, type Endpoint } from './endpoint.ts'

interface UnregisterParts {
  readonly check: BodyCheck<UnregisterBody>
  readonly store: Store
  readonly metrics: Metrics
  readonly log: Log
}

/**
 * `/v1/unregister`: removes a device; with the last one, the station and its history. A device without an id needs its
 * push token as proof.
 */
export function unregisterEndpoint({ check, store, metrics, log }: UnregisterParts): Endpoint {
  function logOutcome(outcome: RemoveOutcome, station: StationKey): void {
    if (outcome === 'station') {
      metrics.count('stations_unregistered')
      log.info('station-left', 'A station was removed with its last device.', { station })
    } else {
      log.info('device-left', 'A device was removed from its station.', {
        station,
        devices: store.stations.get(station)?.devices.length ?? 0,
      })
    }
  }

  return async (received) => {
    const body = check(received)
    const key = claimedStation(body)
    const deviceId = claimedDevice(body)
    const pushToken = deviceId === '' ? (body.pushToken ?? '') : undefined
    const outcome = await store.stations.remove(key, {
      deviceId,
      ...(pushToken !== undefined && { pushToken }),
    })
    if (outcome === 'none') throw new ApiError('not_registered')
    if (outcome === 'wrong_token') throw new ApiError('wrong_token')
    logOutcome(outcome, key)
    return answer(plainBody({ serverTime: await store.stamps.issue() }))
  }
}
