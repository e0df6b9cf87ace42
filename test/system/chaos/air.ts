import { type AprsIsServer, startAprsIs } from '../../../fixtures/aprsis/server.ts'
import type { Happenings } from './happenings.ts'

/** How many times faster than in the real network senders retry and servers suppress duplicates. */
const HASTE = 30
/** Just over 31 s, divided by `HASTE`. After 31 s, the network forwards an identical packet again. */
export const ACK_INTERVAL_MS = 1050
/**
 * Real senders wait 15 s at first and then double that. These are shorter, so the test does not wait for late retries.
 */
const RETRY_MS = [500, 1000, 2000, 2500]
const TRIES_WITHOUT_ACK = 3

const clock = {
  now: () => Date.now() * HASTE,
  after(delayMs: number, task: () => void) {
    const handle = setTimeout(task, delayMs / HASTE).unref()
    return { cancel: () => clearTimeout(handle) }
  },
}

/** A sent message. `firstAt` and `lastAt` are the numbers of its first and last packet. */
export interface Sent {
  /** Sender, addressee and number. */
  readonly id: string
  readonly to: string
  readonly text: Buffer
  readonly line: Buffer
  /** How often the message is sent at most. `Infinity`: until it is acknowledged. */
  readonly tries: number
  /** Newest server time that any phone had seen when the message was first sent. */
  readonly floor: number
  readonly firstAt: number
  lastAt: number
  sendings: number
  /** The sidecar's APRS-IS login that received the first packet. Undefined if that is uncertain. */
  readonly login: number | undefined
  acked: boolean
  confirmed: boolean
  dueAt: number
}

/** APRS-IS, and the stations that send messages by it. */
export class Air {
  readonly sent = new Map<string, Sent>()
  packets = 0
  acks = 0
  logins = 0
  #server: AprsIsServer
  #stalled = false
  readonly #happenings: Happenings
  readonly #unacked = new Set<Sent>()

  static async start(happenings: Happenings): Promise<Air> {
    return new Air(await startAprsIs({ clock }), happenings)
  }

  private constructor(server: AprsIsServer, happenings: Happenings) {
    this.#server = server
    this.#happenings = happenings
    this.#watch(server)
  }

  /** For the configuration of a sidecar. */
  get address() {
    return { host: this.#server.host, port: this.#server.port }
  }

  /** How many messages wait to be acknowledged. */
  get waiting(): number {
    return [...this.#unacked].filter(({ tries }) => tries === Number.POSITIVE_INFINITY).length
  }

  #watch(server: AprsIsServer): void {
    server.events.on('login', () => {
      this.logins += 1
      this.#happenings.tell()
    })
    server.events.on('disconnect', () => this.#happenings.tell())
    server.events.on('filter', () => this.#happenings.tell())
    server.events.on('packet', ({ line, outcome }) => this.#onAck(line, outcome === 'passed'))
  }

  /** Whether each station is in the filter of a logged-in client. */
  listensTo(keys: readonly string[]): boolean {
    return keys.every((key) => this.#listeners(key) > 0)
  }

  get loggedIn(): boolean {
    return this.#server.clients().length > 0
  }

  #listeners(key: string): number {
    return this.#server.clients().filter(({ filter }) => `${filter}/`.includes(`/${key}/`)).length
  }

  /**
   * `untilAcked`: the sender repeats the message until it is acknowledged. Otherwise, a numbered message is sent three
   * times, and any other once.
   */
  send(message: {
    readonly id: string
    readonly to: string
    readonly text: Buffer
    readonly line: Buffer
    readonly numbered: boolean
    readonly untilAcked: boolean
    readonly floor: number
  }): void {
    const { id, to, text, line, floor } = message
    const certain = !this.#stalled && this.#listeners(to) === 1
    const sent: Sent = {
      id,
      to,
      text,
      line,
      tries: message.untilAcked ? Number.POSITIVE_INFINITY : message.numbered ? TRIES_WITHOUT_ACK : 1,
      floor,
      firstAt: this.packets,
      lastAt: this.packets,
      sendings: 0,
      login: certain ? this.logins : undefined,
      acked: false,
      confirmed: false,
      dueAt: 0,
    }
    this.sent.set(id, sent)
    this.#unacked.add(sent)
    this.#transmit(sent)
  }

  /** Retransmits all messages that are due. */
  repeat(): void {
    const now = Date.now()
    for (const sent of this.#unacked) if (sent.dueAt <= now) this.#transmit(sent)
  }

  #transmit(sent: Sent): void {
    sent.lastAt = this.packets
    this.packets += 1
    sent.dueAt = Date.now() + (RETRY_MS[sent.sendings] ?? RETRY_MS.at(-1) ?? 0)
    sent.sendings += 1
    if (sent.sendings >= sent.tries) this.#unacked.delete(sent)
    this.#server.inject(sent.line)
    this.#happenings.tell()
  }

  #onAck(line: string, heard: boolean): void {
    const [, to, from, number] = /^(\S+)>APRS,TCPIP\*::(\S+) *:ack(.+)$/.exec(line) ?? []
    const sent = this.sent.get(`${from} ${to} ${number}`)
    if (sent?.tries !== Number.POSITIVE_INFINITY) {
      this.#happenings.blame(`"${line}" acknowledges nothing that the sidecar should acknowledge`)
      return
    }
    sent.confirmed = true
    // The same login delivered earlier messages in order, so those are stored too.
    if (sent.login === this.logins) {
      for (const letter of this.sent.values())
        if (letter.login === sent.login && letter.firstAt < sent.firstAt) letter.confirmed = true
    }
    this.acks += 1
    if (heard) {
      sent.acked = true
      this.#unacked.delete(sent)
    }
    this.#happenings.tell()
  }

  drop(): void {
    this.#server.dropAll()
  }

  stall(): void {
    this.#stalled = true
    this.#server.stall()
  }

  resume(): void {
    this.#stalled = false
    this.#server.resume()
  }

  refuseLogins(refuse: boolean): void {
    this.#server.refuseLogins = refuse
  }

  answerUnverified(unverified: boolean): void {
    this.#server.answerUnverified = unverified
  }

  stop(): Promise<void> {
    return this.#server.close()
  }

  /** Uses the same port as before. */
  async startAgain(): Promise<void> {
    this.#server = await startAprsIs({ clock, port: this.#server.port })
    this.#watch(this.#server)
  }
}
