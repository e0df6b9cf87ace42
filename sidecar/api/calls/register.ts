import type { RegisterBody } from '../../client/wire/bodies.ts'
import { ApiError } from '../../errors.ts'
import type { AvatarUpload, StationKey, Store } from '../../messages/store.ts'
import type { Metrics } from '../../metrics.ts'
import { plainBody } from '../answers/answer.ts'
import { jsonText } from '../answers/json-text.ts'
import { decideAvatar } from '../requests/avatar.ts'
import type { BodyCheck } from '../requests/schemas.ts'
import type { RingCache } from '../rings/ring-cache.ts'
import { answer, type Call } from './call.ts'
import { claimedStation } from './claim.ts'
import { checkPushToken } from './push-token.ts'

interface RegisterParts {
  readonly check: BodyCheck<RegisterBody>
  readonly store: Store
  readonly isReserved: (key: StationKey) => boolean
  readonly rings: Pick<RingCache, 'since'>
  readonly metrics: Metrics
}

/** `/v1/register`: a station's first call and its heartbeat. */
export function registerCall(parts: RegisterParts): Call {
  const { check, store, isReserved, rings, metrics } = parts
  return async (received, client) => {
    const body = check(received)
    checkPushToken(body)
    const key = claimedStation(body)
    if (isReserved(key)) throw new ApiError('reserved')
    const avatar = uploadedAvatar(body)
    const outcome = await store.stations.register({
      key,
      platform: body.platform,
      pushToken: body.pushToken,
      ackMessages: body.ackMessages,
      client,
      ...(avatar ? { avatar } : {}),
    })
    if (outcome.kind === 'limited') return { kind: 'drop' }
    if (outcome.kind === 'full') throw new ApiError('full')
    if (outcome.kind === 'created') metrics.count('stations_registered')
    const held = outcome.station.avatar
    const avatarHash = held.state === 'set' ? held.hash : ''
    if (body.wantHistory !== true)
      return answer(plainBody({ serverTime: await store.cursors.current(key), avatarHash, avatars: {} }))
    const since = body.since ?? 0
    const found = await rings.since(key, since)
    // It was unregistered at the same moment.
    if (!found) throw new ApiError('not_registered')
    const { head, serverTime } = found
    const sent = { head, tail: `,"serverTime":${serverTime},"avatarHash":${jsonText(avatarHash)}}` }
    return answer(sent, store.cursors.handOut(key, since, serverTime))
  }
}

function uploadedAvatar(body: RegisterBody): AvatarUpload | undefined {
  const decision = decideAvatar(body)
  if (decision.kind === 'invalid')
    throw new ApiError('invalid_request', [{ path: decision.member, reason: decision.reason }])
  if (decision.kind === 'keep') return undefined
  const { icon, image, hash } = decision
  return { icon, image, hash }
}
