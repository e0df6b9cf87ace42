import { isDeepStrictEqual } from 'node:util'
import { passcodeOf } from '../../../sidecar/aprs/passcode.ts'
import {
  type AppStore,
  type Calls,
  ClientError,
  type ClientOptions,
  type ClientState,
  createCalls,
  createClient,
  type Fetch,
  type MessageRecord,
  type PhoneClient,
  type Timers,
} from '../../../sidecar/client/index.ts'
import { PLATFORMS, type Platform } from '../../../sidecar/messages/store.ts'
import { claim } from '../../support/running-api.ts'
import type { Happenings } from './happenings.ts'

/** How many times faster than real time a phone's clock runs. Failed requests are retried after a tenth of a second. */
const HASTE = 40
const ANSWER_LIMIT_MS = 5000

const HASTY: Timers = {
  now: () => Date.now() * HASTE,
  after(delayMs, task) {
    const handle = setTimeout(task, delayMs / HASTE)
    return { cancel: () => clearTimeout(handle) }
  },
}

/** A message that a sync returned. `bytes` is its text. */
export interface Shown {
  readonly id: string
  readonly time: number
  readonly bytes: Buffer
}

/** The stamps of all messages, over all lives of the sidecar. */
export class Stamps {
  /** Newest stamp that the sidecar issued, including those of answers without messages. */
  newest = 0
  readonly #messages = new Map<number, string>()
  readonly #happenings: Happenings

  constructor(happenings: Happenings) {
    this.#happenings = happenings
  }

  get count(): number {
    return this.#messages.size
  }

  /** No other message has it: several phones of a station are shown the same. */
  add(stamp: number, id: string): void {
    const earlier = this.#messages.get(stamp) ?? id
    if (earlier !== id) this.#happenings.blame(`the stamp ${stamp} was given to ${earlier} and to ${id}`)
    this.#messages.set(stamp, id)
  }
}

interface PhoneParts {
  /** Sends a request to the running sidecar. Rejects if it does not answer. */
  readonly fetch: Fetch
  /**
   * Subscribes to Web Push, for the server with this public key: resolves with what the phone registers as its push
   * token.
   */
  readonly subscribe: (publicKey: string) => string
  readonly stamps: Stamps
  readonly happenings: Happenings
}

export type PhoneCall = 'sync' | 'launch' | 'heartbeat' | 'avatars'

/** An answer of the API. Only some answers have `messages`. */
interface Answer {
  readonly serverTime: number
  readonly messages?: readonly MessageRecord[]
}

/** A phone and its station. */
export interface PhonePlace {
  readonly station: number
  /** 0 is the station's first phone. */
  readonly ordinal: number
}

/**
 * A phone of a station, with the package's client as its app. It keeps all messages that it showed, and checks each
 * answer on its way. A simpler app, which always continues from the newest server time, would have to see the same
 * messages.
 */
export class Phone {
  readonly key: string
  /** The station, and which of its phones. */
  readonly name: string
  readonly platform: Platform
  /** Whether the sidecar acknowledges messages to the station, because its first phone asks for that. */
  readonly acks: boolean
  readonly isFirst: boolean
  readonly shown: Shown[] = []
  registered = false
  calling = false
  /** Number of messages that the phone showed at its registration. It needs no notifications of these. */
  shownAtFirst = 0
  readonly #callsign: string
  readonly #ids = new Set<string>()
  readonly #calls: Readonly<Record<PhoneCall, () => Promise<unknown>>> = {
    sync: async () => this.#client?.sync(),
    launch: () => this.#launch(),
    // The phone has no avatar, so this only sends a register request.
    heartbeat: async () => this.#client?.setAvatar(null),
    avatars: () => this.#direct.avatars({ ...claim(this.#callsign), stations: [] }),
  }
  readonly #parts: PhoneParts
  readonly #options: Omit<ClientOptions, 'pushToken'>
  #pushToken: string | undefined
  /** Sends requests that the client has no reason to send. */
  readonly #direct: Calls
  #client: PhoneClient | undefined
  #state: ClientState | undefined
  /** Server time of all answers. */
  #newest = 0
  /** Settles when no request is under way. */
  #idle: Promise<unknown> = Promise.resolve()

  constructor({ station, ordinal }: PhonePlace, parts: PhoneParts) {
    this.#callsign = `N${station}CALL`
    this.key = `${this.#callsign}-7`
    this.name = `${this.key}/${ordinal}`
    this.platform = PLATFORMS[(station + ordinal) % PLATFORMS.length] ?? 'android'
    this.acks = station % 4 !== 3
    this.isFirst = ordinal === 0
    // A Web Push phone has no push token yet: it first needs the sidecar's public key.
    if (this.platform !== 'webpush')
      this.#pushToken =
        this.platform === 'ios' ? `${station}${ordinal}`.repeat(32) : `token-${ordinal}-of-${this.#callsign}`
    this.#parts = parts
    this.#options = {
      baseUrl: 'http://sidecar.invalid',
      fetch: this.#fetch,
      timers: HASTY,
      timeoutMs: ANSWER_LIMIT_MS * HASTE,
      callsign: this.#callsign,
      ssid: 7,
      passcode: passcodeOf(this.#callsign),
      platform: this.platform,
      ackMessages: this.acks && this.isFirst,
      store: this.#store,
    }
    this.#direct = createCalls(this.#options)
  }

  /** Target of the phone's notifications: its push token, or the address of its Web Push subscription. */
  get target(): string | undefined {
    return this.platform === 'webpush' && this.#pushToken ? JSON.parse(this.#pushToken).endpoint : this.#pushToken
  }

  /** Resolves with false if the sidecar did not answer, or if another request of this phone is pending. */
  async call(how: PhoneCall): Promise<boolean> {
    if (this.calling) return false
    this.calling = true
    try {
      this.#client?.networkChanged()
      await this.#calls[how]()
      return true
    } catch (error) {
      // The sidecar was killed before or during its answer. Refusals are reported where the answer arrives.
      if (error instanceof ClientError) return false
      throw error
    } finally {
      this.calling = false
      this.#parts.happenings.tell()
    }
  }

  async close(): Promise<void> {
    await this.#client?.close()
  }

  /** The app ends and starts again; what it has stored stays. */
  async #launch(): Promise<void> {
    await this.close()
    this.#pushToken ??= await this.#subscribe()
    this.#client = await createClient({ ...this.#options, pushToken: this.#pushToken })
    await this.#client.start()
    if (!this.registered) this.shownAtFirst = this.shown.length
    this.registered = true
  }

  async #subscribe(): Promise<string> {
    const { fetch, subscribe } = this.#parts
    const { publicKey } = await createCalls({ ...this.#options, fetch }).webPush()
    return subscribe(publicKey)
  }

  readonly #store: AppStore = {
    load: async () => this.#state,
    save: async (state, messages) => {
      this.#state = state
      for (const shown of messages.map(shownOf)) {
        if (this.#ids.has(shown.id)) this.#parts.happenings.blame(`${this.name} was shown ${shown.id} twice`)
        this.#ids.add(shown.id)
        this.shown.push(shown)
      }
    },
  }

  readonly #fetch: Fetch = (address, init) => {
    const answer = this.#idle.then(() => this.#ask(address, init))
    this.#idle = answer.catch(() => {})
    return answer
  }

  async #ask(...[address, init]: Parameters<Fetch>): ReturnType<Fetch> {
    const { pathname } = new URL(address)
    const answer = await this.#parts.fetch(address, init)
    const { status } = answer
    const body = await answer.json()
    if (status === 200) this.#look(pathname, body as Answer)
    else this.#parts.happenings.blame(`${pathname} of ${this.name} was answered with ${status} ${JSON.stringify(body)}`)
    return { status, json: async () => body }
  }

  #look(path: string, { serverTime, messages }: Answer): void {
    const { stamps, happenings } = this.#parts
    if (messages) {
      let last = this.#newest
      for (const { id, time } of messages.map(shownOf)) {
        if (time <= last || time > serverTime)
          happenings.blame(`${path} of ${this.name} showed ${id} of ${time} behind ${last} and up to ${serverTime}`)
        last = time
        stamps.add(time, id)
      }
    }
    this.#newest = Math.max(this.#newest, serverTime)
    stamps.newest = Math.max(stamps.newest, serverTime)
  }

  /** The whole history as the server has it, without touching the cursor. */
  async history(): Promise<readonly Shown[]> {
    const calls = createCalls({ ...this.#options, fetch: this.#parts.fetch })
    const { deviceId = null } = this.#state ?? {}
    const { messages } = await calls.sync({ ...claim(this.#callsign), deviceId, since: 0 })
    return messages.map(shownOf)
  }

  hasShown(id: string): boolean {
    return this.#ids.has(id)
  }

  /** Whether the messages that the phone showed equal `history`, in the same order. */
  agreesWith(history: readonly Shown[]): boolean {
    return isDeepStrictEqual(this.shown, history)
  }
}

/** A message record of an answer. */
export function shownOf({ from, to, seqId, time, text, textBytes }: MessageRecord): Shown {
  const bytes = textBytes === undefined ? Buffer.from(text) : Buffer.from(textBytes, 'base64')
  return { id: `${from} ${to} ${seqId}`, time, bytes }
}
