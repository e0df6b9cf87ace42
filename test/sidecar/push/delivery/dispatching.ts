import { createRecorder } from '../../../../fixtures/push/recorder.ts'
import type { Clock } from '../../../../sidecar/clock.ts'
import type { PushQueue } from '../../../../sidecar/messages/push-queue.ts'
import {
  type AvatarUpload,
  PLATFORMS,
  type Platform,
  type Stations,
  type Store,
} from '../../../../sidecar/messages/store.ts'
import { createMetrics, type Metrics } from '../../../../sidecar/metrics.ts'
import { Dispatcher } from '../../../../sidecar/push/delivery/dispatcher.ts'
import type { Notification, PushGateway, PushOutcome } from '../../../../sidecar/push/gateway/gateway.ts'
import { recordedLog } from '../../../support/recorded-log.ts'
import { append, message, registration, temporaryStores } from '../../store/sqlite/temporary-stores.ts'

export const KEY = 'N0CALL-7'
export const ACCEPTED: PushOutcome = { kind: 'accepted' }
export const LATER: PushOutcome = { kind: 'try_later', reason: 'down' }

interface Sent {
  readonly pushToken: string
  readonly notification: Notification
  readonly answer: (outcome: PushOutcome) => void
}

/** A gateway for tests. A test sets its answers one by one, or all at once. */
export class ManualGateway implements PushGateway {
  readonly #sent = createRecorder<Sent>('notification')
  readonly sent = this.#sent.items
  always: PushOutcome | undefined
  closed = 0

  send(pushToken: string, notification: Notification): Promise<PushOutcome> {
    return new Promise((answer) => {
      this.#sent.add({ pushToken, notification, answer })
      if (this.always) answer(this.always)
    })
  }

  async close(): Promise<void> {
    this.closed++
    for (const { answer } of this.sent) answer({ kind: 'try_later', reason: 'the gateway is closed' })
  }

  async arrived(count: number): Promise<Sent> {
    await this.#sent.waitFor(() => this.sent.length >= count)
    return this.sent[count - 1]!
  }
}

/** Wraps a push queue. Counts pending claims, and records when postponed entries are due, in elapsed milliseconds. */
function watch(pushes: PushQueue, clock: Clock) {
  const watched = {
    ...pushes,
    claiming: 0,
    putOff: [] as number[],
    async claim(room: Parameters<PushQueue['claim']>[0]) {
      watched.claiming += 1
      try {
        return await pushes.claim(room)
      } finally {
        watched.claiming -= 1
      }
    },
    retryLater(...put: Parameters<PushQueue['retryLater']>) {
      watched.putOff.push(clock.elapsed() + put[1].delayMs)
      return pushes.retryLater(...put)
    },
  }
  return watched
}

interface Parts {
  readonly gateways?: Partial<Record<Platform, PushGateway>>
  readonly pushes?: (original: PushQueue) => PushQueue
  readonly stations?: (original: Stations) => Stations
}

/**
 * A dispatcher with its own store for each test. Station `KEY` is registered, and the gateway `android` accepts all
 * notifications. Create it inside a `describe`.
 */
export class Dispatching {
  readonly stores = temporaryStores()
  readonly #logged = recordedLog()
  readonly lines = this.#logged.lines
  readonly events = this.#logged.of
  store!: Store
  metrics!: Metrics
  android!: ManualGateway
  dispatcher!: Dispatcher
  #queue!: ReturnType<typeof watch>
  #serial = 0

  constructor() {
    beforeEach(async () => {
      this.metrics = createMetrics()
      this.android = new ManualGateway()
      this.android.always = ACCEPTED
      await this.start()
      await this.register()
    })
    afterEach(() => this.dispatcher.close())
  }

  /** Replaces the dispatcher, and continues with the state that it left. */
  async start({ gateways = { android: this.android }, pushes, stations }: Parts = {}) {
    await this.dispatcher?.close()
    await this.store?.close()
    this.store = await this.stores.open({ push: { coalesceMs: 0 } })
    this.#queue = watch(pushes?.(this.store.pushes) ?? this.store.pushes, this.stores.clock)
    this.dispatcher = new Dispatcher({
      gateways,
      stations: stations?.(this.store.stations) ?? this.store.stations,
      pushes: this.#queue,
      clock: this.stores.clock,
      log: this.#logged.log,
      metrics: this.metrics,
      random: () => 1,
    })
  }

  async register(key = KEY, pushToken = `token-of-${key}`, platform: Platform = 'android', avatar?: AvatarUpload) {
    await this.store.stations.register(registration(key, { platform, pushToken, ...(avatar && { avatar }) }))
  }

  async receive(text = 'Hello', to = KEY) {
    this.#serial += 1
    await append(this.store, message(text, { to, seqId: String(this.#serial) }))
  }

  isUnpushed() {
    return PLATFORMS.some((platform) => this.store.pushes.waiting(platform) > 0)
  }

  /**
   * Advances the clock to each postponed push in turn. Each time, waits until all claims and sent notifications are
   * settled or postponed, as happens by itself on a real clock.
   */
  async advance(ms: number) {
    const { clock } = this.stores
    const end = clock.elapsed() + ms
    for (let next: number | undefined = clock.elapsed(); next !== undefined; ) {
      await clock.advance(next - clock.elapsed())
      do await new Promise((resolve) => setImmediate(resolve))
      while (this.#queue.claiming + this.dispatcher.inFlight() > 0)
      next = this.#queue.putOff.filter((index) => index > clock.elapsed() && index <= end).sort((a, b) => a - b)[0]
    }
    await clock.advance(end - clock.elapsed())
  }

  dispatched() {
    return this.advance(0)
  }

  /** Stores a message, and waits until the dispatcher has sent or postponed its notification. */
  async tell(...heard: Parameters<typeof this.receive>) {
    await this.receive(...heard)
    await this.dispatched()
  }

  /** Stores a message, and leaves the gateway's answer to its notification pending. */
  async underWay() {
    this.android.always = undefined
    await this.receive()
    return this.arrival(1)
  }

  /** Resolves with the entry that is due once the previous ones are settled. */
  async arrival(count: number): Promise<Sent> {
    while (this.android.sent.length < count) await this.stores.clock.advance(0)
    return this.android.arrived(count)
  }

  /** Restarts the store. Returns the stations with due notifications. */
  async left(): Promise<readonly string[]> {
    await this.store.close()
    this.store = await this.stores.open()
    const claims = await this.store.pushes.claim({ android: 100, ios: 100, webpush: 100 })
    return claims.map(({ station }) => station)
  }
}
