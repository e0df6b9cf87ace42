import { parseStationKey } from '../../aprs/station.ts'
import type { AvatarsBody } from '../../client/wire/bodies.ts'
import { ApiError } from '../../errors.ts'
import type { Store } from '../../messages/store.ts'
import type { AvatarCache } from '../answers/avatar-cache.ts'
import { avatarsBody } from '../answers/avatars-body.ts'
import type { BytesInFlight } from '../answers/bytes-in-flight.ts'
import type { ClientAddress } from '../requests/client-address.ts'
import type { BodyCheck } from '../requests/schemas.ts'
import { claimedStation } from './claim.ts'
import type { Endpoint } from './endpoint.ts'

interface AvatarsParts {
  readonly check: BodyCheck<AvatarsBody>
  readonly store: Store
  readonly avatars: AvatarCache
  readonly inFlight: BytesInFlight
  /** Counts so many calls more for the client; false over the rate limit. */
  readonly countRequests: (client: ClientAddress, calls: number) => boolean
}

/** A call counts in the rate limit once for each so many stations. */
const STATIONS_PER_COUNT = 10
/** Of what may be in flight in all: the rest is left to syncs and registers. */
const MAX_BYTES_OF_AVATARS = 24_000_000

/** `/v1/avatars`: the full avatars of up to 50 stations, those that have one. */
export function avatarsEndpoint({ check, store, avatars, inFlight, countRequests }: AvatarsParts): Endpoint {
  return async (received, client) => {
    const body = check(received)
    const key = claimedStation(body)
    // Its request was counted as one call when it arrived.
    const more = Math.ceil(body.stations.length / STATIONS_PER_COUNT) - 1
    if (more > 0 && !countRequests(client, more)) return { kind: 'drop', limit: 'requests' }
    if (!(await store.stations.find(key))) throw new ApiError('not_registered')
    // What is no station's name has no avatar either; the rest of the batch is answered all the same.
    const wanted = [...new Set(body.stations.flatMap((name) => parseStationKey(name) ?? []))]
    const room = inFlight.take(client, avatars.bytesAtMost(wanted), MAX_BYTES_OF_AVATARS)
    if (!room) throw new ApiError('overloaded')
    try {
      const pieces = await avatars.pieces(wanted)
      const serverTime = await store.cursors.stampFor(key, undefined)
      await avatars.ownTurn()
      return { kind: 'answer', body: avatarsBody(serverTime, pieces), room }
    } catch (error) {
      room.release()
      throw error
    }
  }
}
