import type { RegisterBody } from '../../client/wire/bodies.ts'
import { ApiError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import type { AvatarUpload, Platform, Station, StationKey, Store } from '../../messages/store.ts'
import type { Metrics } from '../../metrics.ts'
import { plainBody } from '../answers/answer.ts'
import { jsonText } from '../answers/json-text.ts'
import { decideAvatar } from '../requests/avatar.ts'
import { newcomerNetwork } from '../requests/client-address.ts'
import type { BodyCheck } from '../requests/schemas.ts'
import type { RingCache } from '../rings/ring-cache.ts'
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

/** `/v1/register`: a station's first call and its heartbeat. */
export function registerEndpoint(parts: RegisterParts): Endpoint {
  const { check, store, isReserved, rings, metrics, log } = parts

  /** Whoever knows the passcode can add one, and anybody can compute that: here the operator sees it. */
  function tellOfDevice({ key, devices }: Station, platform: Platform): void {
    metrics.count('devices_joined')
    log.info('device-joined', 'A station has another device.', { station: key, platform, devices: devices.length })
  }

  function logDisplaced(station: StationKey): void {
    metrics.count('stations_displaced')
    log.info('station-left', 'An unproven station made room for a new one, because the registry is full.', { station })
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
      client: newcomerNetwork(client),
      ...(avatar ? { avatar } : {}),
    })
    if (outcome.kind === 'limited') return { kind: 'drop', limit: 'new_stations' }
    if (!('station' in outcome)) throw new ApiError(outcome.kind)
    if (outcome.kind === 'created') {
      metrics.count('stations_registered')
      if (outcome.displaced !== undefined) logDisplaced(outcome.displaced)
    }
    if (outcome.kind === 'joined') tellOfDevice(outcome.station, body.platform)
    const held = outcome.station.avatar
    const avatarHash = held.state === 'set' ? held.hash : ''
    if (body.wantHistory !== true)
      return answer(
        plainBody({
          serverTime: await store.cursors.stampFor(key, deviceId, body.since ?? undefined),
          avatarHash,
          avatars: {},
        }),
      )
    const found = await rings.since(key, deviceId, claimedCursor(body.since ?? 0))
    // It was unregistered at the same moment.
    if (!found) throw new ApiError('not_registered')
    const { head, serverTime } = found
    return answer({ head, tail: `,"serverTime":${serverTime},"avatarHash":${jsonText(avatarHash)}}` })
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
 * What a platform's tokens look like, where that is known, and what to say of others: the app learns here of what the
 * gateway would only call dead. FCM's have no documented form. Those of APNs are bytes, of which Apple leaves the
 * number open: 32 so far, and no more than 100 here. Its client leaves out of them what is no hex digit, and would send
 * to another phone, or none.
 */
const FORMS: Partial<Readonly<Record<Platform, { readonly form: RegExp; readonly reason: string }>>> = {
  android: { form: /^[\x21-\x7e]+$/, reason: 'It must be visible ASCII characters without blanks, and not empty.' },
  ios: {
    form: /^(?:[0-9a-f]{2}){1,100}$/i,
    reason:
      'On iOS it must be the device token that APNs gave the app, in hex: two of 0-9 and a-f for each of at most 100 bytes.',
  },
}

/** Throws `invalid_request` when `pushToken` cannot be a token of its platform. */
function checkPushToken({ platform, pushToken }: { readonly platform: Platform; readonly pushToken: string }) {
  const rule = FORMS[platform]
  if (rule && !rule.form.test(pushToken))
    throw new ApiError('invalid_request', [{ path: 'pushToken', reason: rule.reason }])
}
