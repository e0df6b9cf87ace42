import type { RegisterBody } from '../../client/wire/bodies.ts'
import { ApiError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { blockedList } from '../../messages/devices/blocked-senders.ts'
import type { AvatarUpload, Platform, Station, StationKey, Store } from '../../messages/store.ts'
import type { Metrics } from '../../metrics.ts'
import { plainBody } from '../answers/answer.ts'
import { jsonText } from '../answers/json-text.ts'
import { decideAvatar } from '../requests/avatar.ts'
import { newcomerNetwork } from '../requests/client-address.ts'
import type { BodyCheck } from '../requests/schemas.ts'
import { membersAfterHead, type RingCache } from '../rings/ring-cache.ts'
import { claimedCursor, claimedDevice, claimedStation } from './claim.ts'
import { answer, type Endpoint } from './endpoint.ts'

interface RegisterParts {
  readonly check: BodyCheck<RegisterBody>
  readonly store: Store
  readonly isReserved: (key: StationKey) => boolean
  readonly rings: Pick<RingCache, 'since'>
  readonly metrics: Metrics
  readonly log: Log
}

/** `/v1/register`: registers a device of a station. Apps repeat this request as a heartbeat. */
export function registerEndpoint(parts: RegisterParts): Endpoint {
  const { check, store, isReserved, rings, metrics, log } = parts

  /** Logs each additional device, because anyone can compute a station's passcode and add a device to it. */
  function logDevice({ key, devices }: Station, platform: Platform): void {
    metrics.count('devices_joined')
    log.info('device-joined', 'A further device registered for a station.', {
      station: key,
      platform,
      devices: devices.length,
    })
  }

  function logDisplaced(station: StationKey): void {
    metrics.count('stations_displaced')
    log.info('station-left', 'An unproven station was removed for a new one, because the registry is full.', {
      station,
    })
  }

  return async (received, client) => {
    const body = check(received)
    checkPushToken(body)
    const key = claimedStation(body)
    if (isReserved(key)) throw new ApiError('reserved')
    const deviceId = claimedDevice(body)
    const avatar = uploadedAvatar(body)
    const outcome = await store.stations.register({
      key,
      deviceId,
      platform: body.platform,
      pushToken: body.pushToken,
      ackMessages: body.ackMessages,
      options: {
        anySsid: body.anySsid === true,
        blocked: blockedList(body.blocked ?? []),
        wantAcks: body.wantAcks === true,
      },
      client: newcomerNetwork(client),
      ...(avatar ? { avatar } : {}),
    })
    if (outcome.kind === 'limited') return { kind: 'drop', limit: 'new_stations' }
    if (!('station' in outcome)) throw new ApiError(outcome.kind)
    if (outcome.kind === 'created') {
      metrics.count('stations_registered')
      if (outcome.displaced !== undefined) logDisplaced(outcome.displaced)
    }
    if (outcome.kind === 'joined') logDevice(outcome.station, body.platform)
    const { avatar: storedAvatar } = outcome.station
    const avatarHash = storedAvatar.state === 'set' ? storedAvatar.hash : ''
    if (body.wantHistory !== true)
      return answer(
        plainBody({
          serverTime: await store.cursors.stampFor(key, deviceId, body.since ?? undefined),
          avatarHash,
          avatars: {},
        }),
      )
    const news = await rings.since(key, deviceId, claimedCursor(body.since ?? 0))
    // The station was unregistered while this request was handled.
    if (!news) throw new ApiError('not_registered')
    return answer({ head: news.head, tail: `${membersAfterHead(news)},"avatarHash":${jsonText(avatarHash)}}` })
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

/**
 * The form of push tokens by platform, and the error text for the app's developer. Without this check, the developer
 * would only see that the gateway reports the token as dead.
 */
const TOKEN_FORMS: Partial<Readonly<Record<Platform, { readonly form: RegExp; readonly reason: string }>>> = {
  // FCM documents no form.
  android: { form: /^[\x21-\x7e]+$/, reason: 'It must be visible ASCII characters without spaces, and not empty.' },
  // Apple does not fix the length; today it is 32 bytes. The APNs client drops characters that are not hex digits, so a
  // malformed token could reach another phone.
  ios: {
    form: /^(?:[0-9a-f]{2}){1,100}$/i,
    reason: 'On iOS it must be the device token from APNs in hex: two digits for each byte, at most 100 bytes.',
  },
}

/** Throws `invalid_request` if `pushToken` does not have the form of its platform's tokens. */
function checkPushToken({ platform, pushToken }: { readonly platform: Platform; readonly pushToken: string }) {
  const rule = TOKEN_FORMS[platform]
  if (rule && !rule.form.test(pushToken))
    throw new ApiError('invalid_request', [{ path: 'pushToken', reason: rule.reason }])
}
