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
import { createDispatcher, type Dispatcher } from '../../../../sidecar/push/delivery/dispatcher.ts'
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

/** A gateway whose answers a test gives by hand, or once and for all. */
export class ManualGateway implements PushGateway {
  readonly sent: Sent[] = []
  always: PushOutcome | undefined
  closed = 0
  #arrival: (() => void) | undefined

  send(pushToken: string, notification: Notification): Promise<PushOutcome> {
    return new Promise((answer) => {
      this.sent.push({ pushToken, notification, answer })
      if (this.always) answer(this.always)
      this.#arrival?.()
    })
  }

  close(): Promise<void> {
    this.closed++
    for (const { answer } of this.sent) answer({ kind: 'try_later', reason: 'the gateway is closed' })
    return Promise.resolve()
  }

  async arrived(count: number): Promise<Sent> {
    while (this.sent.length < count) {
      await new Promise<void>((resolve) => {
        this.#arrival = resolve
      })
    }
    return this.sent[count - 1]!
  }
}

/** A queue of which is known what was claimed and has not come to its end, and when what is put off is due, in elapsed milliseconds. */
function watch(
  pushes: PushQueue,
  clock: Clock,
): PushQueue & { readonly busy: number; readonly putOff: readonly number[] } {
  let busy = 0
  const putOff: number[] = []
  const ended = async (work: Promise<void>) => {
    try {
      await work
    } finally {
      busy -= 1
    }
  }
  return {
    ...pushes,
    get busy() {
      return busy
    },
    putOff,
    async claim(room) {
      busy += 1
      try {
        const claims = await pushes.claim(room)
        busy += claims.length
        return claims
      } finally {
        busy -= 1
      }
    },
    settle: (claim) => ended(pushes.settle(claim)),
    later(claim, next) {
      putOff.push(clock.elapsed() + next.delayMs)
      return ended(pushes.later(claim, next))
    },
  }
}

interface Parts {
  readonly gateways?: Partial<Record<Platform, PushGateway>>
  readonly pushes?: (original: PushQueue) => PushQueue
  readonly stations?: (original: Stations) => Stations
  readonly random?: () => number
}

/** A dispatcher before a store of its own, for each test: station `KEY` is registered, and `android` takes all. Call inside a `describe`. */
export function dispatching() {
  const stores = temporaryStores()
  let store: Store
  let metrics: Metrics
  let android: ManualGateway
  let dispatcher: Dispatcher
  let queue: ReturnType<typeof watch>
  const { log, lines, of: events } = recordedLog()

  /** In the place of the one before, on what that left. */
  async function start({ gateways = { android }, pushes, stations, random = () => 1 }: Parts = {}) {
    await dispatcher?.close()
    await store?.close()
    store = await stores.open({ push: { coalesceMs: 0 } })
    queue = watch(pushes ? pushes(store.pushes) : store.pushes, stores.clock)
    dispatcher = createDispatcher({
      gateways,
      stations: stations ? stations(store.stations) : store.stations,
      pushes: queue,
      clock: stores.clock,
      log,
      metrics,
      random,
    })
  }

  async function register(
    key = KEY,
    pushToken = `token-of-${key}`,
    platform: Platform = 'android',
    avatar?: AvatarUpload,
  ) {
    await store.stations.register(registration(key, { platform, pushToken, ...(avatar && { avatar }) }))
  }

  let serial = 0
  async function receive(text = 'Hello', to = KEY, from = 'W1AW') {
    await append(store, message(text, { from, to, seqId: String(++serial) }))
  }

  const isUnpushed = () => PLATFORMS.some((platform) => store.pushes.waiting(platform) > 0)

  /** Lets what is planned happen, and waits each time until all of it is settled or put off, as a clock that is not turned would. */
  async function advance(ms: number) {
    const { clock } = stores
    const end = clock.elapsed() + ms
    for (let next: number | undefined = clock.elapsed(); next !== undefined; ) {
      await clock.advance(next - clock.elapsed())
      do await new Promise((resolve) => setImmediate(resolve))
      while (queue.busy > 0)
      next = queue.putOff.filter((at) => at > clock.elapsed() && at <= end).sort((one, other) => one - other)[0]
    }
    await clock.advance(end - clock.elapsed())
  }

  const dispatched = () => advance(0)
  /** A message that comes in, and what becomes of it for now. */
  async function tell(...heard: Parameters<typeof receive>) {
    await receive(...heard)
    await dispatched()
  }
  /** The same, of which the answer is still to come. */
  async function underWay() {
    android.always = undefined
    await receive()
    await stores.clock.advance(0)
    return android.arrived(1)
  }

  /** Of what is due as soon as what was sent before is settled. */
  async function arrival(count: number): Promise<Sent> {
    while (android.sent.length < count) await stores.clock.advance(0)
    return android.arrived(count)
  }

  /** What the next start is left with. */
  async function left(): Promise<readonly string[]> {
    await store.close()
    store = await stores.open()
    const claims = await store.pushes.claim({ android: 100, ios: 100, webpush: 100 })
    return claims.map(({ station }) => station)
  }

  beforeEach(async () => {
    metrics = createMetrics()
    android = new ManualGateway()
    android.always = ACCEPTED
    await start()
    await register()
  })
  afterEach(() => dispatcher.close())

  return {
    stores,
    lines,
    events,
    start,
    register,
    receive,
    isUnpushed,
    advance,
    dispatched,
    tell,
    underWay,
    arrival,
    left,
    get store() {
      return store
    },
    get metrics() {
      return metrics
    },
    get android() {
      return android
    },
    get dispatcher() {
      return dispatcher
    },
  }
}
