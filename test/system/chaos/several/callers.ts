import { isDeepStrictEqual } from 'node:util'
import { type Calls, ClientError, type MessageRecord } from '../../../../sidecar/client/index.ts'
import { PLATFORMS, type Platform } from '../../../../sidecar/messages/store.ts'
import { claim, registration } from '../../../support/running-api.ts'
import type { Happenings } from '../happenings.ts'
import { type Shown, shownOf } from '../phones.ts'

/** The server that a phone sends requests to. */
export interface Callee {
  readonly name: string
  readonly calls: Calls
}

/** How many requests of a phone are kept, to explain a violation. */
const MOST_CALLS = 100

interface CallerParts {
  readonly happenings: Happenings
  /** Whether a current fault may make instances answer 500. */
  readonly mayFail: () => boolean
  /** Subscribes to Web Push, for the servers with this public key: gives what the phone registers as its push token. */
  readonly subscribe: (publicKey: string) => string
}

/** An answer of the API. Only some answers have `messages`. */
interface Answer {
  readonly serverTime: number
  readonly messages?: readonly MessageRecord[]
}

/** A phone and its station. */
interface CallerPlace {
  readonly station: number
  /** 0 is a phone without a device id. */
  readonly ordinal: number
}

/**
 * An app of a station. It sends each request to another instance, and syncs from the newest cursor of every answer. It
 * keeps its own cursor, because the client's is more careful: that one skips cursors after a lost answer.
 */
export class Caller {
  readonly key: string
  /** The station, and which of its phones. */
  readonly name: string
  /** Whether the sidecar acknowledges messages to the station, because its first phone asks for that. */
  readonly acks: boolean
  readonly isFirst: boolean
  readonly shown: Shown[] = []
  calling = false
  /** Answers that were 500. */
  failures = 0
  readonly #claim: ReturnType<typeof claim> & { readonly deviceId?: string }
  readonly #callsign: string
  readonly #platform: Platform
  readonly #ids = new Set<string>()
  readonly #calls: string[] = []
  readonly #happenings: Happenings
  readonly #mayFail: () => boolean
  readonly #subscribe: CallerParts['subscribe']
  #pushToken: string | undefined
  #cursor = 0

  constructor({ station, ordinal }: CallerPlace, { happenings, mayFail, subscribe }: CallerParts) {
    this.#callsign = `N${station}C`
    this.key = `${this.#callsign}-7`
    this.name = `${this.key}/${ordinal}`
    this.isFirst = ordinal === 0
    this.#claim = { ...claim(this.#callsign), ...(!this.isFirst && { deviceId: `device-${ordinal}` }) }
    this.acks = station % 4 !== 3
    this.#happenings = happenings
    this.#mayFail = mayFail
    this.#subscribe = subscribe
    this.#platform = PLATFORMS[(station + ordinal) % PLATFORMS.length] ?? 'android'
    // A Web Push phone has no push token yet: it first needs the public key of the instances.
    if (this.#platform !== 'webpush')
      this.#pushToken =
        this.#platform === 'ios' ? `${station}${ordinal}`.padStart(64, '0') : `token-${ordinal}-of-${this.#callsign}`
  }

  /** Target of the phone's notifications: its push token, or the address of its Web Push subscription. */
  get target(): string {
    const token = this.#pushToken ?? ''
    return this.#platform === 'webpush' ? JSON.parse(token).endpoint : token
  }

  /** Resolves with false if there was no answer. */
  async register(callee: Callee): Promise<boolean> {
    const answer = await this.#answered(callee, 'register', async (calls) => {
      this.#pushToken ??= this.#subscribe((await calls.webPush()).publicKey)
      const ackMessages = this.acks && this.isFirst
      const more = { ...this.#claim, platform: this.#platform, pushToken: this.#pushToken, ackMessages }
      return calls.register(registration(this.#callsign, more))
    })
    // The answer's stamp may be older than the cursor, if only another instance knows the newest messages.
    if (answer) this.#cursor = Math.max(this.#cursor, answer.serverTime)
    return answer !== undefined
  }

  async sync(callee: Callee): Promise<boolean> {
    const since = this.#cursor
    const answer = await this.#answered(callee, 'sync', (calls) => calls.sync({ ...this.#claim, since }))
    if (!answer) return false
    let last = since
    for (const shown of answer.messages.map(shownOf)) {
      if (shown.time <= last || shown.time > answer.serverTime)
        this.#happenings.blame(
          `${this.name} was shown ${shown.id} of ${shown.time} behind ${last} and up to ${answer.serverTime}`,
        )
      if (this.#ids.has(shown.id)) this.#happenings.blame(`${this.name} was shown ${shown.id} twice`)
      last = shown.time
      this.#ids.add(shown.id)
      this.shown.push(shown)
    }
    if (answer.serverTime < since)
      this.#happenings.blame(`a sync of ${this.name} gave ${answer.serverTime} after ${since}`)
    this.#cursor = Math.max(since, answer.serverTime)
    return true
  }

  /** Returns the whole history without changing the cursor. Resolves with undefined if there was no answer. */
  async history(callee: Callee): Promise<readonly Shown[] | undefined> {
    const answer = await this.#answered(callee, 'sync', (calls) => calls.sync({ ...this.#claim, since: 0 }))
    return answer?.messages.map(shownOf)
  }

  hasShown(id: string): boolean {
    return this.#ids.has(id)
  }

  /**
   * Describes how the messages that the phone showed differ from `history`. Returns undefined if they are equal and in
   * the same order.
   */
  astray(history: readonly Shown[]): string | undefined {
    if (isDeepStrictEqual(this.shown, history)) return undefined
    const skipped = history.filter(({ id }) => !this.#ids.has(id))
    const keptIds = new Set(history.map(({ id }) => id))
    const missed = this.shown.filter(({ id }) => !keptIds.has(id))
    const named = (shown: readonly Shown[]) => shown.map(({ id, time }) => `${id} of ${time}`).join(', ')
    return `${this.name}: it was not shown [${named(skipped)}], and alone has [${named(missed)}]; its calls were ${this.#calls.join('; ')}`
  }

  /** Sends a request. Resolves with undefined after an error, and reports errors that no fault of the run explains. */
  async #answered<Got extends Answer>(
    { name, calls }: Callee,
    how: string,
    ask: (calls: Calls) => Promise<Got>,
  ): Promise<Got | undefined> {
    // A fault that began or ended during the request also explains an error.
    const wasAllowed = this.#mayFail()
    const begun = Date.now()
    const note = (got: string) => {
      this.#calls.push(`${begun} +${Date.now() - begun} ms ${how} at ${name} from ${this.#cursor}: ${got}`)
      if (this.#calls.length > MOST_CALLS) this.#calls.shift()
    }
    try {
      const answer = await ask(calls)
      note(`${answer.serverTime} with ${answer.messages?.length ?? 'no'} messages`)
      return answer
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
      const { code, message } = error
      note(code)
      if (code === 'internal' && (wasAllowed || this.#mayFail())) this.failures += 1
      else if (code !== 'unreachable')
        this.#happenings.blame(`${how} of ${this.name} was answered with ${code}: ${message}`)
      return undefined
    }
  }
}
