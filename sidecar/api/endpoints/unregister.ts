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
 * `/v1/unregister`: ends a device, and with a station's last one the station and its history. The device without an id
 * has no secret of its own, so that its push token shows who asks.
 */
export function unregisterEndpoint({ check, store, metrics, log }: UnregisterParts): Endpoint {
  function note(outcome: RemoveOutcome, station: StationKey): void {
    if (outcome === 'station') {
      metrics.count('stations_unregistered')
      log.info('station-left', 'A station left with its last device.', { station })
    } else {
      log.info('device-left', 'A device left its station.', {
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
    note(outcome, key)
    return answer(plainBody({ serverTime: await store.stamps.issue() }))
  }
}
