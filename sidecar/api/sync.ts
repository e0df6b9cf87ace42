import { ApiError } from '../errors.ts'
import { answer, type Call } from './call.ts'
import { claimedStation } from './claim.ts'
import type { RingCache } from './ring-cache.ts'
import type { BodyCheck, SyncBody } from './schemas.ts'

interface SyncParts {
  readonly check: BodyCheck<SyncBody>
  readonly rings: RingCache
}

/** `/v1/sync`: what a station missed since its cursor. */
export function syncCall({ check, rings }: SyncParts): Call {
  return async (received) => {
    const body = check(received)
    const found = await rings.since(claimedStation(body), body.since)
    if (!found) throw new ApiError('not_registered')
    const { head, serverTime, gzipHead } = found
    return answer({ head, tail: `,"serverTime":${serverTime}}`, gzipHead })
  }
}
