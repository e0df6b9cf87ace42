import { type Clock, within } from '../../clock.ts'
import type { PushResultKind } from '../../messages/reports/push-result.ts'
import type { Device, Platform, Station, StationKey, Stations } from '../../messages/store.ts'
import { buildNotification } from '../gateway/notification.ts'
import type { WatchedGateway } from './watched-gateway.ts'

/**
 * The outcome of a test notification to one device. `token_dead`: the device has no live token, so nothing was sent.
 */
export interface TestOutcome {
  readonly platform: Platform
  readonly outcome: PushResultKind | 'token_dead'
  /** The gateway's reason, or why nothing was sent; null if the gateway accepted the notification. */
  readonly reason: string | null
}

export interface TestParts {
  readonly gateways: ReadonlyMap<Platform, Pick<WatchedGateway, 'send'>>
  readonly stations: Pick<Stations, 'markTokenDead'>
  readonly clock: Clock
}

/** Time limit of a test, in milliseconds. It is longer than the 10 s that a gateway may take. */
const ANSWER_WITHIN_MS = 12_000

/**
 * Sends a notification to each device of the station, neither stored nor retried. Returns the outcomes in their order.
 * Marks dead tokens. Never rejects.
 *
 * @param from the callsign that the phone shows as the sender
 */
export async function sendTests(
  parts: TestParts,
  station: Station,
  from: StationKey,
  text: string,
): Promise<readonly TestOutcome[]> {
  return Promise.all(station.devices.map((device) => sendTest(parts, station.key, device, from, text)))
}

async function sendTest(
  { gateways, stations, clock }: TestParts,
  to: StationKey,
  { id, platform, pushToken, tokenDead }: Device,
  from: StationKey,
  text: string,
): Promise<TestOutcome> {
  const gateway = gateways.get(platform)
  if (!gateway) return { platform, outcome: 'gateway_off', reason: `No push gateway is configured for ${platform}.` }
  if (tokenDead)
    return { platform, outcome: 'token_dead', reason: 'The token is dead until the app registers a token again.' }
  const message = { from, to, seqId: '', text: Buffer.from(text), stamp: clock.now() }
  const { data, ...shown } = buildNotification(to, { count: 1, newest: message }, 'none')
  // The test has its own collapse id, so that its banner does not replace the banner of the station's messages.
  const collapseId = `aprs-test-${to}`
  try {
    const notification = { ...shown, collapseId, data: { ...data, collapseId } }
    const outcome = await within(ANSWER_WITHIN_MS, gateway.send(pushToken, notification), clock)
    if (outcome.kind === 'accepted') return { platform, outcome: 'accepted', reason: null }
    if (outcome.kind === 'token_gone') await stations.markTokenDead(to, id, pushToken).catch(() => undefined)
    return { platform, outcome: outcome.kind === 'busy' ? 'try_later' : outcome.kind, reason: outcome.reason }
  } catch {
    // The error is not shown, because it could quote the token.
    return { platform, outcome: 'try_later', reason: 'The push gateway did not answer in time.' }
  }
}
