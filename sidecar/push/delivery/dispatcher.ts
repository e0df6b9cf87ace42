import { type Clock, within } from '../../clock.ts'
import type { Log } from '../../log.ts'
import type { PushClaim, PushQueue } from '../../messages/push-queue.ts'
import { PLATFORMS, type Platform, type StationKey, type Stations } from '../../messages/store.ts'
import type { Metrics } from '../../metrics.ts'
import type { PushGateway } from '../gateway/gateway.ts'
import type { SenderAvatar } from '../gateway/notification.ts'
import type { GatewayAnswers } from './answers.ts'
import { type Claimed, createDeliveries } from './delivery.ts'
import { type Lane, openLane } from './lane.ts'

export interface DispatcherParts {
  /** Those that are configured. The dispatcher closes them when it is closed. */
  readonly gateways: Readonly<Partial<Record<Platform, PushGateway>>>
  readonly stations: Pick<Stations, 'get' | 'avatars' | 'markTokenDead' | 'prove'>
  /** The dispatcher claims what falls due in it, and closes it when it is closed. */
  readonly pushes: PushQueue
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  /** At least 0 and below 1, for the jitter. */
  readonly random?: () => number
}

/** Tells phones what they have not been told yet, whatever the gateways make of it. */
export interface Dispatcher {
  /** How many devices are being notified right now. */
  underWay(): number
  /** How each gateway that is configured fares. */
  gateways(): readonly GatewayStatus[]
  /**
   * Claims nothing more, and gives what is under way {@link GRACE_MS} to be answered. What has no answer then is handed
   * back to the queue. May be called twice.
   */
  close(): Promise<void>
}

/** One gateway, its latest answers, and how many devices are being notified by it or wait, be it for another try. */
export type GatewayStatus = GatewayAnswers & {
  readonly platform: Platform
  readonly waiting: number
  /** The gateway called so many tokens in a row dead that it is not believed. */
  readonly tokensDoubted: boolean
}

export const GRACE_MS = 2_000

const WARN_EVERY_MS = 60_000

/** Claims at once what falls due, as much as there is room for; whatever becomes of it is the queue's to keep. */
export function createDispatcher(parts: DispatcherParts): Dispatcher {
  const { gateways, stations, pushes, clock, log, metrics, random = Math.random } = parts
  const lanes = PLATFORMS.map((platform) =>
    openLane({ platform, gateway: gateways[platform], onRoom: wake, clock, log }),
  )
  /** Those of which something may be due that is not claimed. */
  const due = new Set<Lane>()
  const hasGateway = (platform: Platform) => gateways[platform] !== undefined
  const deliveries = createDeliveries(
    { stations, pushes, hasGateway, clock, log, metrics, random },
    () => closing !== undefined,
  )
  /** Claims to come, and what was claimed. */
  const working = new Set<Promise<void>>()
  let isClaiming = false
  let underWay = 0
  /** In elapsed time. */
  let warnedAt = Number.NEGATIVE_INFINITY
  let closing: Promise<void> | undefined

  function wake(): void {
    // While a claim is made, places become free for the next one: the busier it gets, the more devices each of them
    // brings.
    if (isClaiming) return
    isClaiming = true
    work(claimWhatIsDue())
  }

  function work(promise: Promise<void>): void {
    working.add(promise)
    void promise.finally(() => working.delete(promise))
  }

  async function claimWhatIsDue(): Promise<void> {
    for (let wanted = lanesToFill(); wanted.length > 0; wanted = lanesToFill()) {
      const room: Record<Platform, number> = { android: 0, ios: 0, webpush: 0 }
      for (const lane of wanted) room[lane.platform] = lane.room()
      // What falls due from here on may not be among what is claimed.
      for (const lane of wanted) due.delete(lane)
      const claims = await claim(room)
      metrics.count('pushes_claimed', claims.length)
      for (const lane of wanted) {
        const count = claims.filter(({ device }) => device.platform === lane.platform).length
        if (count > 0 && count >= room[lane.platform]) due.add(lane)
      }
      begin(claims)
    }
    // In the same breath as the last look: whoever wakes it now starts the next round.
    isClaiming = false
  }

  function lanesToFill(): readonly Lane[] {
    return closing === undefined ? [...due].filter((lane) => lane.room() > 0) : []
  }

  async function claim(room: Readonly<Record<Platform, number>>): Promise<readonly PushClaim[]> {
    try {
      return await pushes.claim(room)
    } catch (error) {
      if (clock.elapsed() - warnedAt >= WARN_EVERY_MS) {
        warnedAt = clock.elapsed()
        log.warn('push-queue-failing', 'The database does not say whom to notify; it is asked again.', { error })
      }
      return []
    }
  }

  function begin(claims: readonly PushClaim[]): void {
    const at = clock.elapsed()
    const claimed = claims.flatMap((claim): readonly Claimed[] => {
      const lane = lanes.find(({ platform }) => platform === claim.device.platform)
      return lane ? [{ claim, lane, at }] : []
    })
    for (const { lane } of claimed) lane.enter()
    underWay += claimed.length
    if (claimed.length > 0) work(deliverAll(claimed))
  }

  async function deliverAll(claimed: readonly Claimed[]): Promise<void> {
    const senderOf = ({ claim }: Claimed) => claim.unpushed.newest.from
    let deliver: (one: Claimed) => Promise<void>
    try {
      const avatarOf = await avatarsOf(stations, claimed.map(senderOf))
      deliver = (one) => deliveries.deliver(one, avatarOf(senderOf(one)))
    } catch (error) {
      deliver = (one) => deliveries.putOff(one, error)
    }
    await Promise.all(claimed.map((one) => deliver(one).finally(() => (underWay -= 1))))
  }

  async function close(): Promise<void> {
    pushes.close()
    await within(GRACE_MS, allDone(), clock).catch(() => undefined)
    // Closing a gateway settles what still waits for it.
    await Promise.all(lanes.map((lane) => lane.close?.()))
    await allDone()
  }

  async function allDone(): Promise<void> {
    while (working.size > 0) await Promise.all(working)
  }

  pushes.onDue(() => {
    for (const lane of lanes) due.add(lane)
    wake()
  })

  return {
    underWay: () => underWay,
    gateways() {
      return lanes.flatMap(({ platform, answers }) =>
        answers
          ? {
              ...answers(),
              platform,
              // For one of those who ask.
              get waiting() {
                return pushes.waiting(platform)
              },
            }
          : [],
      )
    },
    close() {
      closing ??= close()
      return closing
    },
  }
}

/** The avatars of `senders`, their images read all at once. Rejects where the store does. */
async function avatarsOf(
  stations: Pick<Stations, 'get' | 'avatars'>,
  senders: readonly StationKey[],
): Promise<(sender: StationKey) => SenderAvatar> {
  const stateOf = (sender: StationKey) => stations.get(sender)?.avatar.state
  const withAvatar = new Set(senders.filter((sender) => stateOf(sender) === 'set'))
  const stored = withAvatar.size > 0 ? await stations.avatars([...withAvatar]) : undefined
  return (sender) => stored?.get(sender) ?? (stateOf(sender) === 'cleared' ? 'cleared' : 'none')
}
