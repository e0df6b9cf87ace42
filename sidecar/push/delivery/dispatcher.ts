import { type Clock, within } from '../../clock.ts'
import type { Log } from '../../log.ts'
import type { PushClaim, PushQueue } from '../../messages/push-queue.ts'
import { PLATFORMS, type Platform, type Station, type StationKey, type Stations } from '../../messages/store.ts'
import type { Metrics } from '../../metrics.ts'
import type { PushGateway } from '../gateway/gateway.ts'
import type { SenderAvatar } from '../gateway/notification.ts'
import type { GatewayAnswers } from './answers.ts'
import { type ClaimInFlight, Deliveries } from './delivery.ts'
import { SendSlots } from './send-slots.ts'
import { sendTests, type TestOutcome } from './test-notification.ts'
import { WatchedGateway } from './watched-gateway.ts'

/** The dependencies of the dispatcher. */
export interface DispatcherParts {
  /** The configured gateways. Closing the dispatcher closes them. */
  readonly gateways: Readonly<Partial<Record<Platform, PushGateway>>>
  readonly stations: Pick<Stations, 'get' | 'avatars' | 'markTokenDead' | 'prove'>
  /** The queue of devices to notify. Closing the dispatcher closes the queue. */
  readonly pushes: PushQueue
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  /** Returns a random number from 0 to below 1, for the jitter of retries. Default: `Math.random`. */
  readonly random?: () => number
}

/** The state of one gateway. */
export type GatewayStatus = GatewayAnswers & {
  readonly platform: Platform
  /** Number of devices with a notification that is being sent, or waits for its first or next try. */
  readonly waiting: number
  /**
   * Whether the gateway reported so many tokens in a row dead that the sidecar doubts its reports; see {@link
   * TokenKills}.
   */
  readonly tokensDoubted: boolean
}

export const GRACE_MS = 2_000

const WARN_INTERVAL_MS = 60_000

/**
 * Claims due devices from the queue for all free slots, and passes them to {@link Deliveries}.
 *
 * - *Idle*: no device is due, or no slot is free. A due device or a free slot wakes the dispatcher.
 * - *Claiming*: it makes one claim after the other, until no device is due or no slot is free. Each fills the slots
 *   that became free during the one before. So a busy dispatcher claims more devices at a time.
 * - *Closing*: it makes no more claims, and waits up to {@link GRACE_MS} for answers. Then it closes the gateways, and
 *   unanswered claims return to the queue.
 */
export class Dispatcher {
  readonly #parts: DispatcherParts
  readonly #slots: readonly SendSlots[]
  readonly #gateways: ReadonlyMap<Platform, WatchedGateway>
  readonly #deliveries: Deliveries
  /** The slots of the platforms for which the queue may have due devices. */
  readonly #due = new Set<SendSlots>()
  /** The running claim and all running deliveries. {@link close} awaits them. */
  readonly #work = new Set<Promise<void>>()
  #isClaiming = false
  #inFlight = 0
  /** When the failing queue was last logged as a warning, as {@link Clock.elapsed} milliseconds. */
  #warnedAt = Number.NEGATIVE_INFINITY
  #closing: Promise<void> | undefined

  constructor(parts: DispatcherParts) {
    const { gateways, stations, pushes, clock, log, metrics, random = Math.random } = parts
    this.#parts = parts
    this.#slots = PLATFORMS.map((platform) => new SendSlots({ platform, clock, onFree: () => this.#wake() }))
    this.#gateways = new Map(
      PLATFORMS.flatMap((platform) => {
        const gateway = gateways[platform]
        return gateway ? [[platform, new WatchedGateway({ platform, gateway, clock, log })]] : []
      }),
    )
    this.#deliveries = new Deliveries({
      stations,
      pushes,
      gateways: this.#gateways,
      clock,
      log,
      metrics,
      random,
      isClosing: () => this.#closing !== undefined,
    })
    pushes.onDue(() => {
      for (const slots of this.#slots) this.#due.add(slots)
      this.#wake()
    })
  }

  /** Returns the number of devices with a notification that is being sent now. */
  inFlight(): number {
    return this.#inFlight
  }

  /** Returns the state of each configured gateway. */
  gateways(): readonly GatewayStatus[] {
    const { pushes } = this.#parts
    return [...this.#gateways.values()].map((gateway) => ({
      ...gateway.answers(),
      platform: gateway.platform,
      // A getter, because few callers read this number. To compute it, the queue iterates over all waiting devices.
      get waiting() {
        return pushes.waiting(gateway.platform)
      },
    }))
  }

  /** Sends a test notification to each device of the station, without the queue. See {@link sendTests}. */
  sendTests(station: Station, from: StationKey, text: string): Promise<readonly TestOutcome[]> {
    const { stations, clock } = this.#parts
    return sendTests({ gateways: this.#gateways, stations, clock }, station, from, text)
  }

  /**
   * Stops claiming, and waits up to {@link GRACE_MS} for answers to notifications in flight. Notifications without an
   * answer return to the queue. Idempotent.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  #wake(): void {
    if (this.#isClaiming) return
    this.#isClaiming = true
    this.#track(this.#claimDue())
  }

  #track(work: Promise<void>): void {
    this.#work.add(work)
    void work.finally(() => this.#work.delete(work))
  }

  async #claimDue(): Promise<void> {
    for (let wanted = this.#slotsToFill(); wanted.length > 0; wanted = this.#slotsToFill()) {
      const free: Record<Platform, number> = { android: 0, ios: 0, webpush: 0 }
      for (const slots of wanted) free[slots.platform] = slots.free
      // `#due` is cleared before the claim. If a device becomes due during the claim, its slots are added to `#due`
      // again, and another claim follows.
      for (const slots of wanted) this.#due.delete(slots)
      const claims = await this.#claim(free)
      this.#parts.metrics.count('pushes_claimed', claims.length)
      for (const slots of wanted) {
        const count = claims.filter(({ device }) => device.platform === slots.platform).length
        if (count > 0 && count >= free[slots.platform]) this.#due.add(slots)
      }
      this.#begin(claims)
    }
    // There is no `await` between the last check of the slots and this line, so no due device or free slot goes
    // unnoticed.
    this.#isClaiming = false
  }

  #slotsToFill(): readonly SendSlots[] {
    return this.#closing === undefined ? [...this.#due].filter(({ free }) => free > 0) : []
  }

  async #claim(free: Readonly<Record<Platform, number>>): Promise<readonly PushClaim[]> {
    const { pushes, clock, log } = this.#parts
    try {
      return await pushes.claim(free)
    } catch (error) {
      if (clock.elapsed() - this.#warnedAt >= WARN_INTERVAL_MS) {
        this.#warnedAt = clock.elapsed()
        log.warn('push-queue-failing', 'Could not read due notifications from the database; retrying.', { error })
      }
      return []
    }
  }

  #begin(claims: readonly PushClaim[]): void {
    const claimedAt = this.#parts.clock.elapsed()
    const begun = claims.flatMap((claim): readonly ClaimInFlight[] => {
      const slots = this.#slots.find(({ platform }) => platform === claim.device.platform)
      return slots ? [{ claim, slots, claimedAt }] : []
    })
    for (const { slots } of begun) slots.take()
    this.#inFlight += begun.length
    if (begun.length > 0) this.#track(this.#deliverAll(begun))
  }

  async #deliverAll(begun: readonly ClaimInFlight[]): Promise<void> {
    const senderOf = ({ claim }: ClaimInFlight) => claim.unpushed.newest.from
    let deliver: (inFlight: ClaimInFlight) => Promise<void>
    try {
      const avatarOf = await avatarsOf(this.#parts.stations, begun.map(senderOf))
      deliver = (inFlight) => this.#deliveries.deliver(inFlight, avatarOf(senderOf(inFlight)))
    } catch (error) {
      deliver = (inFlight) => this.#deliveries.postpone(inFlight, error)
    }
    await Promise.all(
      begun.map(async (inFlight) => {
        await deliver(inFlight)
        this.#inFlight -= 1
      }),
    )
  }

  async #close(): Promise<void> {
    this.#parts.pushes.close()
    await within(GRACE_MS, this.#idle(), this.#parts.clock).catch(() => undefined)
    // Closing a gateway ends all notifications that still wait for an answer.
    await Promise.all([...this.#gateways.values()].map((gateway) => gateway.close()))
    await this.#idle()
  }

  async #idle(): Promise<void> {
    while (this.#work.size > 0) await Promise.all(this.#work)
  }
}

/**
 * Reads the avatars of all `senders` at once from the store. Returns a function that returns the avatar of a sender.
 * Rejects if the read fails.
 */
async function avatarsOf(
  stations: Pick<Stations, 'get' | 'avatars'>,
  senders: readonly StationKey[],
): Promise<(sender: StationKey) => SenderAvatar> {
  const stateOf = (sender: StationKey) => stations.get(sender)?.avatar.state
  const withAvatar = new Set(senders.filter((sender) => stateOf(sender) === 'set'))
  const stored = withAvatar.size > 0 ? await stations.avatars([...withAvatar]) : undefined
  return (sender) => stored?.get(sender) ?? (stateOf(sender) === 'cleared' ? 'cleared' : 'none')
}
