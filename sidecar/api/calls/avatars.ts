import { parseStationKey } from '../../aprs/station.ts'
import type { AvatarsBody } from '../../client/wire/bodies.ts'
import { ApiError } from '../../errors.ts'
import type { Store } from '../../messages/store.ts'
import { plainBody } from '../answers/answer.ts'
import type { BodyCheck } from '../requests/schemas.ts'
import { answer, type Call } from './call.ts'
import { claimedStation } from './claim.ts'

/** `/v1/avatars`: the full avatars of up to 50 stations, those that have one. */
export function avatarsCall({ check, store }: { readonly check: BodyCheck<AvatarsBody>; readonly store: Store }): Call {
  return async (received) => {
    const body = check(received)
    const key = claimedStation(body)
    if (!(await store.stations.find(key))) throw new ApiError('not_registered')
    // What is no station's name has no avatar either; the rest of the batch is answered all the same.
    const wanted = new Set(body.stations.flatMap((name) => parseStationKey(name) ?? []))
    const avatars = await store.stations.avatars([...wanted])
    return answer(
      plainBody({ serverTime: await store.cursors.timeOf(key, undefined), avatars: Object.fromEntries(avatars) }),
    )
  }
}
