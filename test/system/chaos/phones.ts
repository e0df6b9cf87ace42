import { isDeepStrictEqual } from 'node:util'
import { claim, type JsonBody, registration } from '../../support/running-api.ts'
import type { Happenings } from './happenings.ts'

/** A message as a sync showed it; `bytes` is its text. */
export interface Shown {
  readonly id: string
  readonly time: number
  readonly bytes: Buffer
}

/** One request to the sidecar that runs now; undefined when it does not answer. */
export type Post = (path: string, body: object) => Promise<{ status: number; body: JsonBody } | undefined>

/** Every stamp that the sidecar gave out, over all its lives. */
export class Stamps {
  newest = 0
  readonly #all = new Set<number>()
  readonly #happenings: Happenings

  constructor(happenings: Happenings) {
    this.#happenings = happenings
  }

  get count(): number {
    return this.#all.size
  }

  /** `floor` is the newest that was known when the request was made. */
  take(stamp: number, floor: number): void {
    if (stamp <= floor) this.#happenings.blame(`server time ${stamp} came after ${floor}`)
    this.add(stamp)
    this.newest = Math.max(this.newest, stamp)
  }

  /** A message's: no other has it. */
  add(stamp: number): void {
    if (this.#all.has(stamp)) this.#happenings.blame(`the stamp ${stamp} was given out twice`)
    this.#all.add(stamp)
  }
}

interface PhoneParts {
  readonly post: Post
  readonly stamps: Stamps
  readonly happenings: Happenings
}

export type PhoneCall = 'sync' | 'launch' | 'heartbeat' | 'avatars'

/** The app of one station: registers, syncs from the newest cursor of every answer, and keeps what it was shown. */
export class Phone {
  readonly key: string
  readonly platform: 'android' | 'ios'
  readonly acks: boolean
  readonly shown: Shown[] = []
  registered = false
  #cursor = 0
  calling = false
  readonly #callsign: string
  readonly #token: string
  readonly #ids = new Set<string>()
  readonly #calls: Readonly<Record<PhoneCall, () => Promise<boolean>>> = {
    sync: () => this.#sync(),
    launch: () => this.#launch(),
    heartbeat: () => this.#without('/v1/register', this.#registration()),
    avatars: () => this.#without('/v1/avatars', { ...claim(this.#callsign), stations: [] }),
  }
  readonly #parts: PhoneParts

  constructor(index: number, parts: PhoneParts) {
    this.#callsign = `N${index}CALL`
    this.key = `${this.#callsign}-7`
    this.platform = index % 2 === 0 ? 'android' : 'ios'
    this.acks = index % 3 !== 2
    this.#token = this.platform === 'ios' ? `${index}a`.repeat(32) : `token-of-${this.#callsign}`
    this.#parts = parts
  }

  /** False when the sidecar did not answer, or a call of this phone is under way. */
  async call(how: PhoneCall): Promise<boolean> {
    if (this.calling) return false
    this.calling = true
    try {
      return await this.#calls[how]()
    } finally {
      this.calling = false
      this.#parts.happenings.tell()
    }
  }

  #registration(members: object = {}): object {
    const { platform, acks: ackMessages } = this
    return registration(this.#callsign, { platform, pushToken: this.#token, ackMessages, ...members })
  }

  async #launch(): Promise<boolean> {
    const took = await this.#take('/v1/register', this.#registration({ wantHistory: true, since: this.#cursor }))
    this.registered ||= took
    return took
  }

  /** Registers again, or asks for avatars: for their cursor only. */
  async #without(path: string, request: object): Promise<boolean> {
    const answer = await this.#parts.post(path, request)
    if (!answer) return false
    if (answer.status === 200) this.#cursor = Math.max(this.#cursor, answer.body.serverTime)
    else this.#parts.happenings.blame(`${path} of ${this.key} was answered with ${answer.status}`)
    return answer.status === 200
  }

  #sync(): Promise<boolean> {
    return this.#take('/v1/sync', { ...claim(this.#callsign), since: this.#cursor })
  }

  async #take(path: string, request: object): Promise<boolean> {
    const { post, stamps, happenings } = this.#parts
    const since = this.#cursor
    const floor = stamps.newest
    const answer = await post(path, request)
    if (!answer) return false
    if (answer.status !== 200) {
      happenings.blame(`${path} of ${this.key} was answered with ${answer.status} ${JSON.stringify(answer.body)}`)
      return false
    }
    const { messages, serverTime } = answer.body
    stamps.take(serverTime, floor)
    let last = since
    for (const shown of messages.map(shownOf)) {
      if (shown.time <= last || shown.time >= serverTime)
        happenings.blame(
          `${path} of ${this.key} showed ${shown.id} of ${shown.time} behind ${last} and before ${serverTime}`,
        )
      if (this.#ids.has(shown.id)) happenings.blame(`${this.key} was shown ${shown.id} twice`)
      last = shown.time
      stamps.add(shown.time)
      this.#ids.add(shown.id)
      this.shown.push(shown)
    }
    this.#cursor = Math.max(this.#cursor, serverTime)
    return true
  }

  /** The whole history as the server has it, without touching the cursor. */
  async history(): Promise<readonly Shown[]> {
    const floor = this.#parts.stamps.newest
    const answer = await this.#parts.post('/v1/sync', { ...claim(this.#callsign), since: 0 })
    if (answer?.status !== 200) throw new Error(`no history of ${this.key}: ${JSON.stringify(answer)}`)
    this.#parts.stamps.take(answer.body.serverTime, floor)
    return answer.body.messages.map(shownOf)
  }

  hasShown(id: string): boolean {
    return this.#ids.has(id)
  }

  /** Whether what it was shown bit by bit is `history`, message for message and in that order. */
  agreesWith(history: readonly Shown[]): boolean {
    return isDeepStrictEqual(this.shown, history)
  }
}

/** A message record of an answer. */
export function shownOf({ from, to, seqId, time, text, textBytes }: Readonly<Record<string, unknown>>): Shown {
  const bytes = textBytes === undefined ? Buffer.from(String(text)) : Buffer.from(String(textBytes), 'base64')
  return { id: `${from} ${to} ${seqId}`, time: Number(time), bytes }
}
