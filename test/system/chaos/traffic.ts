import type { Air } from './air.ts'
import type { Phone, PhoneCall, Stamps } from './phones.ts'
import type { MessagePlan, Plan } from './plan.ts'

const TICK_MS = 40
/** A phone sends a request after this many packets, and whenever it is notified. */
const PACKETS_PER_CALL = 5
/** Texts repeat, so that only sender, addressee and number tell messages apart. */
const TEXTS = [
  Buffer.from('Good morning'),
  Buffer.from('73'),
  Buffer.alloc(0),
  Buffer.from('Grüße {aus} Köln '),
  Buffer.from('Gr\xfc\xdfe', 'latin1'),
  Buffer.from('x'.repeat(67)),
]

/** Senders and phones that follow the plan until they are stopped. */
export class Traffic {
  quiet = false
  answered = 0
  readonly #plan: Plan
  readonly #air: Air
  readonly #phones: readonly Phone[]
  readonly #stamps: Stamps
  readonly #ticking: NodeJS.Timeout
  readonly #numbers = new Map<string, number>()
  #messages = 0
  #calls = 0
  #strangers = 0

  constructor(parts: {
    readonly plan: Plan
    readonly air: Air
    readonly phones: readonly Phone[]
    readonly stamps: Stamps
  }) {
    this.#plan = parts.plan
    this.#air = parts.air
    this.#phones = parts.phones
    this.#stamps = parts.stamps
    this.#ticking = setInterval(() => this.#tick(), TICK_MS)
  }

  stop(): void {
    clearInterval(this.#ticking)
  }

  #tick(): void {
    this.#air.repeat()
    if (this.quiet) return
    const { messages } = this.#plan
    const burst = messages[this.#messages % messages.length]?.burst ?? 0
    for (let count = 0; count <= burst; count++) this.#sendNext()
    while (this.#calls * PACKETS_PER_CALL < this.#air.packets) this.#callNext()
  }

  #sendNext(): void {
    const { messages } = this.#plan
    const planned = messages[this.#messages++ % messages.length]
    const registered = this.#phones.filter((phone) => phone.registered)
    const to = planned && registered[planned.to % registered.length]
    if (to) this.send(to, planned)
  }

  /** Puts a message to `phone` on the air; returns its id. */
  send(phone: Phone, { from, text: place, numbered, thirdParty }: Omit<MessagePlan, 'to' | 'burst'>): string {
    // A sender without message numbers sends only one message, so that the message's id is unique.
    const sender = numbered ? `S${from}` : `U${this.#strangers++}`
    const number = numbered ? this.#nextNumber(sender) : ''
    const chosen = TEXTS[place % TEXTS.length] ?? Buffer.alloc(0)
    // An empty text without a number is no message.
    const text = numbered || chosen.length > 0 ? chosen : Buffer.from('73')
    const path = thirdParty ? `GATE>APRS,TCPIP*:}${sender}>APK004,GATE*::` : `${sender}>APRS,TCPIP*::`
    const line = Buffer.concat([
      Buffer.from(`${path}${phone.key.padEnd(9)}:`),
      text,
      Buffer.from(numbered ? `{${number}` : ''),
    ])
    const id = `${sender} ${phone.key} ${number}`
    this.#air.send({
      id,
      to: phone.key,
      text,
      line,
      numbered,
      untilAcked: numbered && phone.acks,
      floor: this.#stamps.newest,
    })
    return id
  }

  #nextNumber(sender: string): string {
    const number = this.#numbers.get(sender) ?? 0
    this.#numbers.set(sender, number + 1)
    return number.toString(36)
  }

  #callNext(): void {
    const { calls } = this.#plan
    const planned = calls[this.#calls++ % calls.length]
    const registered = this.#phones.filter((phone) => phone.registered)
    const phone = planned && registered[planned.phone % registered.length]
    if (phone) void this.call(phone, planned.how)
  }

  async call(phone: Phone, how: PhoneCall): Promise<boolean> {
    const answered = await phone.call(how)
    if (answered) this.answered += 1
    return answered
  }
}
