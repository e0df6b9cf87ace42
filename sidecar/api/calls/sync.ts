import type { SyncBody } from '../../client/wire/bodies.ts'
import { ApiError } from '../../errors.ts'
import type { Cursors } from '../../messages/store.ts'
import type { BodyCheck } from '../requests/schemas.ts'
import type { RingCache } from '../rings/ring-cache.ts'
import { answer, type Call } from './call.ts'
import { claimedStation } from './claim.ts'

interface SyncParts {
  readonly check: BodyCheck<SyncBody>
  readonly cursors: Cursors
  readonly rings: Pick<RingCache, 'since'>
}

/** `/v1/sync`: what a station missed since its cursor. */
export function syncCall({ check, cursors, rings }: SyncParts): Call {
  return async (received) => {
    const body = check(received)
    const key = claimedStation(body)
    const { since } = body
    const found = await rings.since(key, since)
    if (!found) throw new ApiError('not_registered')
    const { head, serverTime } = found
    const sent = { head, tail: `,"serverTime":${serverTime}}` }
    return answer(sent, cursors.handOut(key, since, serverTime))
  }
}
