import type { Clock, Timer } from '../clock.ts'
import { type Log, shortToken } from '../log.ts'
import {
  type History,
  PLATFORMS,
  type Platform,
  type Station,
  type StationKey,
  type Stations,
} from '../messages/store.ts'
import type { Metrics } from '../metrics.ts'
import { within } from '../within.ts'
import { type AnswerRecord, type GatewayAnswers, recordAnswers } from './answers.ts'
import type { PushGateway, PushOutcome } from './gateway.ts'
import { buildNotification, type SenderAvatar } from './notification.ts'
import { trackWaiting, type Waiting } from './waiting.ts'

export interface DispatcherParts {
  /** Those that are configured. The dispatcher closes them when it is closed. */
  readonly gateways: Readonly<Partial<Record<Platform, PushGateway>>>
  readonly stations: Stations
  readonly history: History
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  /** At least 0 and below 1, for the jitter. */
  readonly random?: () => number
}

/** Tells phones what they have not been told yet, whatever the gateways make of it. */
export interface Dispatcher {
  /**
   * Notifies the station of everything unpushed. Never rejects; resolves once that is accepted, given up or planned to
   * be tried again. Calls for one station fold into one another: there are never two notifications under way for it. `arrivedAt` is
   * when the oldest message behind this call came in, in elapsed milliseconds; now where it is absent.
   */
  push(key: StationKey, arrivedAt?: number): Promise<void>
  /** How many stations are being notified, those that wait for their turn included, and how many wait for another try. */
  load(): { readonly underWay: number; readonly retrying: number }
  /** How each gateway that is configured fares. */
  gateways(): readonly GatewayStatus[]
  /**
   * Gives what is under way {@link GRACE_MS} to be answered and plans nothing more. What stays unpushed is so in the
   * history, for the next start.
   */
  close(): Promise<void>
}

/** One gateway, its latest answers, and how many stations are being notified by it or wait, be it for another try. */
export type GatewayStatus = GatewayAnswers & { readonly platform: Platform; readonly waiting: number }

/** Of one gateway at a time; further stations wait for their turn. */
export const MAX_IN_FLIGHT = 100
/**
 * A notification is given up after so many tries, or when the next one would be later than so long after the first. Those that meet
 * a gateway which refuses us do not count: how soon our credentials are mended says nothing about the notification.
 */
export const MAX_TRIES = 20
export const GIVE_UP_AFTER_MS = 60 * 60 * 1000
export const GRACE_MS = 2_000

const FIRST_DELAY_MS = 1_000
const DELAY_FACTOR = 3
const MAX_DELAY_MS = 5 * 60 * 1000
/** However long a gateway asks us to wait. */
const MAX_AFTER_MS = 15 * 60 * 1000
const WARN_EVERY_MS = 60_000
const MS_PER_S = 1000

/** One station's notification, from its first try until it is settled. */
interface Delivery {
  tries: number
  /** Elapsed time: a leap of the clock is no reason to give up. */
  firstTryAt: number
  /** Tries in a row at which the gateway refused us. */
  unauthorized: number
  running: Promise<void> | undefined
  /** Asked for while running: what came in then may not have been read. */
  again: boolean
  readonly waiting: Waiting
  retry: Timer | undefined
}

interface Lane {
  readonly gateway: PushGateway
  readonly answers: AnswerRecord
  inFlight: number
  /** Bounded by the number of stations. */
  readonly waiting: (() => void)[]
  /** Elapsed time. */
  warnedAt: number
  /** Why the gateway refuses us; undefined while it does not. */
  unauthorized: string | undefined
}

type Failure = Exclude<PushOutcome, { kind: 'accepted' | 'unauthorized' }>
type PassingFailure = Omit<Extract<PushOutcome, { kind: 'try_later' }>, 'kind'>

export function createDispatcher(parts: DispatcherParts): Dispatcher {
  const { stations, history, clock, log, metrics, random = Math.random } = parts
  const lanes = new Map<Platform, Lane>()
  for (const platform of PLATFORMS) {
    const gateway = parts.gateways[platform]
    if (!gateway) continue
    const answers = recordAnswers(clock)
    const warnedAt = Number.NEGATIVE_INFINITY
    lanes.set(platform, { gateway, answers, inFlight: 0, waiting: [], warnedAt, unauthorized: undefined })
  }
  const deliveries = new Map<StationKey, Delivery>()
  let closed = false
  let closing: Promise<void> | undefined

  function push(key: StationKey, arrivedAt = clock.elapsed()): Promise<void> {
    if (closed) return Promise.resolve()
    const delivery = deliveries.get(key) ?? newDelivery()
    delivery.waiting.arrived(arrivedAt)
    deliveries.set(key, delivery)
    if (delivery.running !== undefined) {
      delivery.again = true
      return delivery.running
    }
    // The try that is planned reads what is unpushed by then, this message included.
    if (delivery.retry) return Promise.resolve()
    return start(key, delivery)
  }

  function start(key: StationKey, delivery: Delivery): Promise<void> {
    delivery.retry = undefined
    delivery.running = run(key, delivery)
    return delivery.running
  }

  async function run(key: StationKey, delivery: Delivery): Promise<void> {
    do {
      delivery.again = false
      if (delivery.tries++ === 0) delivery.firstTryAt = clock.elapsed()
      try {
        await attempt(key, delivery)
      } catch (error) {
        await tryLater(key, delivery, { failure: { reason: `the database failed (${messageOf(error)})` } })
      }
      if (!delivery.retry) {
        delivery.tries = 0
        delivery.unauthorized = 0
      }
    } while (delivery.again && !delivery.retry && !closed)
    delivery.running = undefined
    if (!delivery.retry) deliveries.delete(key)
  }

  async function attempt(key: StationKey, delivery: Delivery): Promise<void> {
    const lane = laneOf(stations.get(key))
    if (!lane) {
      const platform = stations.get(key)?.platform
      const unsent = await skip(key)
      if (unsent && platform)
        metrics.countCase('pushes_unsendable', { platform, reason: lanes.has(platform) ? 'token_dead' : 'gateway_off' })
      return
    }
    await enter(lane)
    try {
      await send(key, delivery, lane)
    } finally {
      leave(lane)
    }
  }

  /** Where the station's notifications go; undefined when there is nowhere to send them. */
  function laneOf(station: Station | undefined): Lane | undefined {
    return station && !station.tokenDead ? lanes.get(station.platform) : undefined
  }

  /** Its phone cannot be told, so that there is nothing to tell later either: sync has the messages. Says whether there was anything. */
  async function skip(key: StationKey): Promise<boolean> {
    const unpushed = await history.unpushed(key)
    if (unpushed) await history.markPushed(key, unpushed.newest.time)
    return unpushed !== undefined
  }

  async function send(key: StationKey, delivery: Delivery, lane: Lane): Promise<void> {
    if (closed) return
    delivery.waiting.sending()
    const unpushed = await history.unpushed(key)
    if (!unpushed) return
    const avatar = await avatarOf(unpushed.newest.from)
    const station = stations.get(key)
    if (!station || laneOf(station) !== lane) {
      delivery.again = station !== undefined
      return
    }
    const outcome = await lane.gateway.send(station.pushToken, buildNotification(key, unpushed, avatar))
    lane.answers.note(outcome)
    noteStanding(lane, station.platform, outcome)
    if (outcome.kind === 'unauthorized') {
      waitForAuthorization(station, delivery, outcome.reason)
    } else if (outcome.kind === 'accepted') {
      metrics.countCase('pushes_accepted', { platform: station.platform })
      const arrivedAt = delivery.waiting.settled()
      if (arrivedAt !== undefined)
        metrics.observePushLatency(station.platform, (clock.elapsed() - arrivedAt) / MS_PER_S)
      await settle(key, unpushed.newest.time)
    } else {
      await settleFailure(station, delivery, unpushed.newest.time, outcome)
    }
  }

  async function settleFailure(station: Station, delivery: Delivery, time: number, failure: Failure): Promise<void> {
    const { key, platform, pushToken } = station
    if (failure.kind === 'try_later') return tryLater(key, delivery, { failure, platform, time })
    delivery.waiting.settled()
    const fields = { station: key, platform, token: shortToken(pushToken), reason: failure.reason }
    if (failure.kind === 'token_gone') {
      metrics.countCase('push_tokens_gone', { platform })
      log.info(
        'push-token-gone',
        'A push token is dead; its station gets no notifications until it registers one.',
        fields,
      )
      await stations.markTokenDead(key, pushToken)
      // Meanwhile registered with another token: that phone has not been told.
      if (stations.get(key)?.tokenDead === false) {
        delivery.again = true
        return
      }
    } else {
      metrics.countCase('pushes_refused', { platform, reason: 'notification' })
      log.error('push-refused', 'A push gateway refused a notification for good.', fields)
    }
    await settle(key, time)
  }

  async function settle(key: StationKey, time: number): Promise<void> {
    try {
      await history.markPushed(key, time)
    } catch (error) {
      // At worst the next notification counts these messages again.
      log.warn('push-not-marked', 'The database did not take that a notification is settled.', { station: key, error })
    }
  }

  /** `time`: of the newest message that the notification was about. */
  async function tryLater(
    key: StationKey,
    delivery: Delivery,
    { failure, platform, time }: { failure: PassingFailure; platform?: Platform; time?: number },
  ): Promise<void> {
    if (closed) return
    const { reason, afterMs } = failure
    if (platform) warn(platform, reason)
    delivery.unauthorized = 0
    const { tries, firstTryAt } = delivery
    const delayMs = retryDelayMs(tries, afterMs, random())
    const elapsedMs = clock.elapsed() - firstTryAt
    const why = { reason: platform ? 'gateway' : 'database' } as const
    const counted = platform ?? stations.get(key)?.platform
    if (tries >= MAX_TRIES || elapsedMs + delayMs > GIVE_UP_AFTER_MS) {
      delivery.waiting.settled()
      if (counted) metrics.countCase('pushes_given_up', { platform: counted, ...why })
      log.warn('push-given-up', 'A notification was given up; the phone finds the messages by sync.', {
        station: key,
        tries,
        reason,
      })
      // What came meanwhile was in no notification yet.
      if (time !== undefined) await settle(key, time)
      return
    }
    if (counted) metrics.countCase('pushes_retried', { platform: counted, ...why })
    plan(key, delivery, { tries, delayMs, reason })
  }

  /** Without an end: what nobody was told must not be taken for told. */
  function waitForAuthorization({ key, platform }: Station, delivery: Delivery, reason: string): void {
    if (closed) return
    delivery.tries = 0
    delivery.unauthorized += 1
    const tries = delivery.unauthorized
    metrics.countCase('pushes_refused', { platform, reason: 'credentials' })
    metrics.countCase('pushes_retried', { platform, reason: 'credentials' })
    plan(key, delivery, { tries, delayMs: retryDelayMs(tries, undefined, random()), reason })
  }

  function plan(key: StationKey, delivery: Delivery, next: { tries: number; delayMs: number; reason: string }): void {
    log.debug('push-retry', 'A notification is tried again later.', { station: key, ...next })
    delivery.retry = clock.after(next.delayMs, () => void start(key, delivery))
  }

  /** Once a minute at most: with a gateway down, every station's try fails. */
  function warn(platform: Platform, reason: string): void {
    const lane = lanes.get(platform)
    if (!lane || clock.elapsed() - lane.warnedAt < WARN_EVERY_MS) return
    lane.warnedAt = clock.elapsed()
    log.warn('push-gateway-failing', 'A push gateway fails; notifications are tried again.', { platform, reason })
  }

  /** One line when a gateway begins to refuse us or finds another reason, and one when that is over, however long it lasts. */
  function noteStanding(lane: Lane, platform: Platform, outcome: PushOutcome): void {
    // Of a gateway that cannot be asked nothing is known.
    if (outcome.kind === 'try_later') return
    const reason = outcome.kind === 'unauthorized' ? outcome.reason : undefined
    if (reason === lane.unauthorized) return
    lane.unauthorized = reason
    const fields = { platform, reason }
    if (reason === undefined) log.info('push-authorized', 'A push gateway takes notifications again.', { platform })
    else
      log.error('push-unauthorized', 'A push gateway refuses the sidecar; notifications wait for the remedy.', fields)
  }

  async function avatarOf(sender: StationKey): Promise<SenderAvatar> {
    const state = stations.get(sender)?.avatar.state ?? 'never'
    if (state !== 'set') return state === 'cleared' ? 'cleared' : 'none'
    return (await stations.avatars([sender])).get(sender) ?? 'none'
  }

  async function close(): Promise<void> {
    closed = true
    for (const [key, { retry }] of deliveries) {
      if (!retry) continue
      retry.cancel()
      deliveries.delete(key)
    }
    for (const { waiting } of lanes.values()) for (const proceed of waiting.splice(0)) proceed()
    const running = Promise.all(Array.from(deliveries.values(), (delivery) => delivery.running))
    await within(GRACE_MS, running, clock).catch(() => undefined)
    // Closing a gateway settles what still waits for it.
    await Promise.all(Array.from(lanes.values(), ({ gateway }) => gateway.close()))
    await running
  }

  return {
    push,
    load() {
      let retrying = 0
      for (const { retry } of deliveries.values()) if (retry) retrying++
      return { underWay: deliveries.size - retrying, retrying }
    },
    gateways() {
      const waiting = new Map<Platform, number>()
      for (const key of deliveries.keys()) {
        const platform = stations.get(key)?.platform
        if (platform) waiting.set(platform, (waiting.get(platform) ?? 0) + 1)
      }
      return Array.from(lanes, ([platform, { answers }]) => ({
        ...answers.read(),
        platform,
        waiting: waiting.get(platform) ?? 0,
      }))
    },
    close() {
      closing ??= close()
      return closing
    },
  }
}

function newDelivery(): Delivery {
  return {
    tries: 0,
    firstTryAt: 0,
    unauthorized: 0,
    running: undefined,
    again: false,
    waiting: trackWaiting(),
    retry: undefined,
  }
}

/**
 * How many milliseconds to wait after `tries` failed tries: exponential, with jitter so that stations that failed together do not
 * come back together, on top of what the gateway asked for.
 */
function retryDelayMs(tries: number, afterMs: number | undefined, random: number): number {
  const backOff = Math.min(FIRST_DELAY_MS * DELAY_FACTOR ** (tries - 1), MAX_DELAY_MS)
  return Math.round(Math.min(afterMs ?? 0, MAX_AFTER_MS) + backOff * (0.5 + random / 2))
}

/** Resolves in turn; whoever leaves hands its place to the next one. */
function enter(lane: Lane): Promise<void> {
  if (lane.inFlight >= MAX_IN_FLIGHT) return new Promise((resolve) => lane.waiting.push(resolve))
  lane.inFlight++
  return Promise.resolve()
}

function leave(lane: Lane): void {
  const next = lane.waiting.shift()
  if (next) next()
  else lane.inFlight--
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : typeof error
}
