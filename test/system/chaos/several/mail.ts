import type { Happenings } from '../happenings.ts'
import type { Dice } from './random.ts'
import type { Site } from './site.ts'

const TICK_MS = 20
const SENDERS = 97

/** A message as it was sent, once. */
export interface Letter {
  /** Sender, addressee and number. */
  readonly id: string
  readonly to: string
  readonly text: string
  /** When the sidecars acknowledged the message, in elapsed milliseconds. */
  readonly ackedAt: number[]
}

/**
 * Messages to the stations at a steady rate. Each is one line that the servers of all sites pass on. It stops once each
 * station has as many as it keeps.
 */
export class Mail {
  readonly letters = new Map<string, Letter>()
  /** Number of the first messages that possibly only one listener received. */
  countHeardOnce = 0
  readonly #stations: readonly string[]
  readonly #most: number
  readonly #sites: readonly Site[]
  readonly #dice: Dice
  readonly #happenings: Happenings
  readonly #isHeardTwice: () => boolean
  #sending: NodeJS.Timeout | undefined
  #turn: readonly string[] = []

  constructor(parts: {
    readonly stations: readonly string[]
    /** How many messages a station's history keeps. */
    readonly perStation: number
    readonly sites: readonly Site[]
    readonly dice: Dice
    readonly happenings: Happenings
    /** Whether two instances listen now. */
    readonly isHeardTwice: () => boolean
  }) {
    this.#stations = parts.stations
    this.#most = parts.stations.length * parts.perStation
    this.#sites = parts.sites
    this.#dice = parts.dice
    this.#happenings = parts.happenings
    this.#isHeardTwice = parts.isHeardTwice
  }

  start(perSecond: number): void {
    const begun = performance.now()
    const countBefore = this.letters.size
    this.#sending = setInterval(() => {
      // On a busy machine, this also sends the messages that are late.
      const due = countBefore + Math.floor(((performance.now() - begun) / 1000) * perSecond)
      while (this.letters.size < Math.min(due, this.#most)) this.send()
      this.#happenings.tell()
    }, TICK_MS)
  }

  stop(): void {
    clearInterval(this.#sending)
  }

  /** Sends a message to the next station. Each round has a new random order. */
  send(): void {
    if (this.#turn.length === 0) this.#turn = this.#dice.shuffled(this.#stations)
    const [to = ''] = this.#turn
    this.#turn = this.#turn.slice(1)
    const count = this.letters.size
    const sender = `S${count % SENDERS}`
    const number = count.toString(36).toUpperCase()
    const text = `Message ${count} of many`
    const letter = { id: `${sender} ${to} ${number}`, to, text, ackedAt: [] }
    this.letters.set(letter.id, letter)
    for (const site of this.#sites) site.inject(`${sender}>APRS,TCPIP*::${to.padEnd(9)}:${text}{${number}`)
    if (!this.#isHeardTwice()) this.heardOnce()
  }

  /** Marks all messages sent so far as possibly received by only one listener. */
  heardOnce(): void {
    this.countHeardOnce = this.letters.size
  }

  takeAck(line: string): void {
    const [, to, from, number] = /^(\S+)>APRS,TCPIP\*::(\S+) *:ack(\w+)$/.exec(line) ?? []
    const letter = this.letters.get(`${from} ${to} ${number}`)
    if (letter) letter.ackedAt.push(performance.now())
    else this.#happenings.blame(`"${line}" acknowledges nothing that was sent`)
  }
}
