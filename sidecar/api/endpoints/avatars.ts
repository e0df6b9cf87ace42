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
  /** Counts `count` more requests of the client. Returns false if the client then exceeds the rate limit. */
  readonly countRequests: (client: ClientAddress, count: number) => boolean
}

/** Number of requested stations that count as one request in the rate limit. */
const STATIONS_PER_COUNT = 10
/**
 * Limit of bytes in flight of all clients, above which no avatars are sent. The rest is for syncs and registrations.
 */
const MAX_AVATAR_BYTES = 24_000_000

/** `/v1/avatars`: answers with the full avatars of up to 50 stations. Stations without an avatar are absent. */
export function avatarsEndpoint({ check, store, avatars, inFlight, countRequests }: AvatarsParts): Endpoint {
  return async (received, client) => {
    const body = check(received)
    const key = claimedStation(body)
    // The handler has already counted this request once, so 1 is subtracted.
    const more = Math.ceil(body.stations.length / STATIONS_PER_COUNT) - 1
    if (more > 0 && !countRequests(client, more)) return { kind: 'drop', limit: 'requests' }
    if (!(await store.stations.find(key))) throw new ApiError('not_registered')
    // A name that is not a valid station has no avatar. It is skipped, so that the request for the other stations
    // succeeds.
    const wanted = [...new Set(body.stations.flatMap((name) => parseStationKey(name) ?? []))]
    const reservation = inFlight.reserve(client, avatars.maxBytesOf(wanted), MAX_AVATAR_BYTES)
    if (!reservation) throw new ApiError('overloaded')
    try {
      const pieces = await avatars.pieces(wanted)
      const serverTime = await store.cursors.stampFor(key, undefined)
      await avatars.ownTurn()
      return { kind: 'answer', body: avatarsBody(serverTime, pieces), reservation }
    } catch (error) {
      reservation.release()
      throw error
    }
  }
}
