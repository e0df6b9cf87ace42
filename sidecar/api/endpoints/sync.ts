import type { SyncBody } from '../../client/wire/bodies.ts'
import { ApiError } from '../../errors.ts'
import type { Stations } from '../../messages/store.ts'
import type { BodyCheck } from '../requests/schemas.ts'
import { membersAfterHead, type RingCache } from '../rings/ring-cache.ts'
import { claimedCursor, claimedDevice, claimedStation } from './claim.ts'
import { answer, type Endpoint } from './endpoint.ts'

interface SyncParts {
  readonly check: BodyCheck<SyncBody>
  readonly rings: Pick<RingCache, 'since'>
  readonly stations: Pick<Stations, 'prove'>
}

/** `/v1/sync`: answers with the messages that a device missed since its cursor. */
export function syncEndpoint({ check, rings, stations }: SyncParts): Endpoint {
  return async (received) => {
    const body = check(received)
    const key = claimedStation(body)
    const news = await rings.since(key, claimedDevice(body), claimedCursor(body.since))
    if (!news) throw new ApiError('not_registered')
    stations.prove(key)
    return answer({ head: news.head, tail: `${membersAfterHead(news)}}` })
  }
}
