import { expect } from 'chai'
import { passcodeOf } from '../../../sidecar/aprs/passcode.ts'
import { createSidecarFolder } from '../../support/sidecar-process.ts'
import { ACK_INTERVAL_MS, Air } from './air.ts'
import { Gateways } from './gateways.ts'
import { Happenings } from './happenings.ts'
import { judgeHistory } from './judgement.ts'
import { Lives } from './lives.ts'
import { Phone, type PhonePlace, type Shown, Stamps } from './phones.ts'
import { type Act, GATEWAYS, type Gateway, type Moment, type Plan } from './plan.ts'
import { Pushes } from './pushes.ts'
import { Traffic } from './traffic.ts'

const LOGIN = 'N0CALL-10'
/** Phones that are registered from the beginning. */
const EARLY_PHONES: readonly PhonePlace[] = [
  ...[0, 1, 2, 3, 4].map((station) => ({ station, ordinal: 0 })),
  { station: 0, ordinal: 1 },
  { station: 3, ordinal: 1 },
]
/**
 * Phones that register during the run or at its end. Some belong to new stations, others to stations that already have
 * messages.
 */
const LATE_PHONES: readonly PhonePlace[] = [
  { station: 5, ordinal: 0 },
  { station: 0, ordinal: 2 },
  { station: 6, ordinal: 0 },
  { station: 1, ordinal: 1 },
  { station: 7, ordinal: 0 },
  { station: 7, ordinal: 1 },
]
/** After this time, the remaining faults are skipped, so that a busy machine does not exceed the test's time limit. */
const RAGE_LIMIT_MS = 60_000
const COALESCE_MS = 400
const BURST = 5
/** How long the run waits for an event that earlier faults may prevent. */
const PATIENCE_MS = 3000

/** A sidecar with its APRS-IS server, push gateways and phones, and the faults that it must survive. */
export class Chaos {
  readonly #happenings = new Happenings()
  readonly #stamps = new Stamps(this.#happenings)
  readonly #pushes = new Pushes(this.#happenings)
  readonly #closers: (() => unknown)[] = []
  readonly #plan: Plan
  readonly #limitMs: number
  readonly #startedAt = Date.now()
  #parts:
    | { readonly air: Air; readonly gateways: Gateways; readonly lives: Lives; readonly traffic: Traffic }
    | undefined
  #phones: readonly Phone[] = []

  constructor(plan: Plan, limitMs = RAGE_LIMIT_MS) {
    this.#plan = plan
    this.#limitMs = limitMs
  }

  get #its() {
    if (!this.#parts) throw new Error('not started')
    return this.#parts
  }

  async start(): Promise<void> {
    const folder = await createSidecarFolder()
    this.#closers.push(() => folder.remove())
    const air = await Air.start(this.#happenings)
    this.#closers.push(() => air.stop())
    const gateways = await Gateways.start(this.#pushes)
    this.#closers.push(() => gateways.close())
    const config = await folder.configure({
      aprsis: { ...air.address, callsign: LOGIN, passcode: passcodeOf(LOGIN), filterDebounceMs: 50 },
      database: 'data/sidecar.sqlite',
      history: { perStation: 10_000 },
      push: { coalesceMs: COALESCE_MS, ...gateways.settings },
      ack: { minIntervalMs: ACK_INTERVAL_MS, maxPerSenderPerMinute: 1000 },
      rateLimit: { max: 1_000_000, newStationsPerHour: 1000, connectionsPerAddress: 1000 },
    })
    const lives = new Lives(config, this.#plan.clocks, this.#happenings)
    this.#closers.push(() => lives.abandon())
    await lives.start()
    const parts = {
      fetch: lives.fetch,
      subscribe: gateways.subscribe,
      stamps: this.#stamps,
      happenings: this.#happenings,
    }
    this.#phones = [...EARLY_PHONES, ...LATE_PHONES].map((place) => new Phone(place, parts))
    this.#closers.push(async () => {
      await Promise.all(this.#phones.map((phone) => phone.close()))
    })
    for (const phone of this.#phones.slice(0, EARLY_PHONES.length)) await this.#answered(phone, 'launch')
    const traffic = new Traffic({ plan: this.#plan, air, phones: this.#phones, stamps: this.#stamps })
    this.#closers.push(() => traffic.stop())
    this.#pushes.onPush = (target) => {
      const phone = this.#phones.find((candidate) => candidate.target === target)
      if (phone) void traffic.call(phone, 'sync')
    }
    this.#parts = { air, gateways, lives, traffic }
  }

  /** Runs all faults of the plan. */
  async rage(): Promise<void> {
    let over = false
    const main = this.#rageOutside().finally(() => {
      over = true
      this.#happenings.tell()
    })
    await Promise.all([main, ...GATEWAYS.map((gateway) => this.#rageAtGateway(gateway, () => over))])
  }

  async #rageOutside(): Promise<void> {
    for (const act of this.#plan.acts) {
      if (Date.now() - this.#startedAt > this.#limitMs) return
      await this.#perform(act)
      await this.#happenings.atMost(PATIENCE_MS, () => this.#its.air.loggedIn)
      await this.#messages(act.rest)
    }
  }

  async #perform(act: Act): Promise<void> {
    const { air, lives } = this.#its
    switch (act.kind) {
      case 'kill':
        await lives.countStored()
        await this.#moment(act.after)
        await lives.end(act.signal)
        await this.#messages(act.down)
        return lives.start()
      case 'newcomer':
        return this.#newcomer()
      case 'drop':
        return air.drop()
      case 'restart':
        await air.stop()
        await this.#messages(act.down)
        return air.startAgain()
      case 'stall':
        air.stall()
        await this.#messages(act.down)
        if (act.drop) air.drop()
        return air.resume()
      case 'refuse':
        air.refuseLogins(true)
        air.drop()
        await this.#messages(act.down)
        return air.refuseLogins(false)
      case 'unverified': {
        const { logins } = air
        air.answerUnverified(true)
        air.drop()
        await this.#happenings.atMost(PATIENCE_MS, () => air.logins > logins)
        await this.#messages(act.down)
        air.answerUnverified(false)
        return air.drop()
      }
    }
  }

  async #newcomer(): Promise<void> {
    const { air } = this.#its
    const phone = this.#phones.find(({ registered }) => !registered)
    if (!phone) return
    await this.#answered(phone, 'launch')
    // If the sidecar is logged in, it updates its filter. Otherwise, its next login includes the station.
    await this.#happenings.until(() => !air.loggedIn || air.listensTo([phone.key]), `${phone.key} was in the filter`)
  }

  async #rageAtGateway(gateway: Gateway, over: () => boolean): Promise<void> {
    const { gateways } = this.#its
    for (const act of this.#plan.gatewayActs[gateway]) {
      if (over()) return
      await gateways.fail(gateway, act)
      await this.#messages(act.down, over)
      await gateways.recover(gateway)
      await this.#messages(act.rest, over)
    }
  }

  /** Resolves once `count` more messages were sent, or `over` returns true. */
  #messages(count: number, over = () => false): Promise<void> {
    const target = this.#its.air.sent.size + count
    return this.#happenings.until(() => over() || this.#its.air.sent.size >= target, 'messages were sent')
  }

  async #moment(moment: Moment): Promise<void> {
    const count = () => {
      const { air, traffic } = this.#its
      const counts = { packet: air.packets, ack: air.acks, sync: traffic.answered, push: this.#pushes.all.length }
      return counts[moment]
    }
    const countBefore = count()
    await this.#happenings.atMost(PATIENCE_MS, () => count() > countBefore)
  }

  /** Ends all faults and waits until everything has come to rest. */
  async calm(): Promise<void> {
    const { air, gateways, lives, traffic } = this.#its
    traffic.quiet = true
    for (const gateway of GATEWAYS) await gateways.recover(gateway)
    await lives.countStored()
    await lives.end('SIGTERM')
    await lives.start()
    for (const phone of this.#phones) await this.#answered(phone, 'launch')
    await this.#happenings.until(
      () => air.listensTo(this.#phones.map(({ key }) => key)),
      'all stations were in the filter',
    )
    await this.#happenings.until(() => air.waiting === 0, 'all messages were acknowledged')
    // Once phones are notified of these messages, no earlier message awaits a notification.
    await this.#untilTold(await this.#sendToAll())
    await this.#fold()
    await this.#killWithPushesDue()
    for (const phone of this.#phones) await this.#answered(phone, 'sync')
  }

  /** Checks that one notification covers the messages of one window. */
  async #fold(): Promise<void> {
    const toldBefore = new Map(this.#phones.map((phone) => [phone, this.#toldTo(phone).length]))
    const startedAt = Date.now()
    let last: readonly string[] = []
    for (let round = 0; round < BURST; round++) last = await this.#sendToAll()
    const withinWindow = Date.now() - startedAt < COALESCE_MS / 2
    await this.#untilTold(last)
    for (const phone of this.#phones) {
      const notifications = this.#toldTo(phone).slice(toldBefore.get(phone))
      const messages = notifications.reduce((sum, { count }) => sum + count, 0)
      expect(messages, `messages that ${phone.name} was told of`).to.equal(BURST)
      // On a busy machine, the coalescing window may have ended between two messages.
      if (withinWindow) expect(notifications.map(({ body }) => body)).to.deep.equal([`${BURST} new APRS messages`])
    }
  }

  /** Checks that a new process sends the pushes that were due at a kill, even if no new message arrives. */
  async #killWithPushesDue(): Promise<void> {
    const { lives } = this.#its
    const last = await this.#sendToAll()
    await lives.end('SIGKILL')
    await lives.start()
    await this.#untilTold(last)
  }

  async #answered(phone: Phone, how: 'sync' | 'launch'): Promise<void> {
    await this.#happenings.until(() => !phone.calling, `${phone.name} had its answer`)
    expect(await phone.call(how), phone.name).to.equal(true)
  }

  /** A message to each station; resolves with their ids when all are stored. */
  async #sendToAll(): Promise<readonly string[]> {
    const { air, traffic } = this.#its
    // Send first to the stations that do not acknowledge. The acks of the others then prove that these messages arrived
    // too.
    const stations = this.#phones.filter(({ isFirst }) => isFirst)
    const inOrder = [...stations.filter(({ acks }) => !acks), ...stations.filter(({ acks }) => acks)]
    const ids = inOrder.map((phone) => traffic.send(phone, { from: 0, text: 0, numbered: true, thirdParty: false }))
    await this.#happenings.until(() => air.waiting === 0, 'all messages were acknowledged')
    return ids
  }

  /** Resolves once each phone was notified of its station's last message in `ids`, and thus of all earlier ones. */
  #untilTold(ids: readonly string[]): Promise<void> {
    const newest = new Map(ids.map((id) => [this.#its.air.sent.get(id)?.to, id]))
    return this.#happenings.until(
      () => this.#phones.every((phone) => this.#toldTo(phone).some(({ id }) => id === newest.get(phone.key))),
      'all phones were told',
    )
  }

  #toldTo({ target = '' }: Phone) {
    return this.#pushes.of(target)
  }

  /** Checks what the sidecar stored and sent against the recorded events of the run. */
  async judge(): Promise<void> {
    const { air, lives } = this.#its
    let stored = 0
    for (const phone of this.#phones) {
      const history = await phone.history()
      if (phone.isFirst) stored += history.length
      judgeHistory(phone, history, new Map([...air.sent].filter(([, { to }]) => to === phone.key)))
      this.#judgePushes(phone, history)
    }
    expect(stored, 'fewer messages than the sidecar counted as stored').to.be.at.least(lives.counted)
    expect(lives.faultyLines).to.deep.equal([])
    expect(this.#happenings.faults).to.deep.equal([])
  }

  #judgePushes(phone: Phone, history: readonly Shown[]): void {
    const { name, target = '', shownAtFirst } = phone
    const due = history.slice(shownAtFirst)
    expect(this.#pushes.untold(target, due), `${name} was not told of these`).to.deep.equal([])
    expect(this.#toldTo(phone).length, `nothing was folded for ${name}`).to.be.lessThan(due.length)
  }

  figures(): string {
    const { air, lives } = this.#its
    const seconds = ((Date.now() - this.#startedAt) / 1000).toFixed(1)
    const counts = [
      `${air.sent.size} messages in ${air.packets} packets`,
      `${lives.count} lives`,
      `${this.#phones.length} phones of ${new Set(this.#phones.map(({ key }) => key)).size} stations`,
      `${air.logins} logins`,
      `${air.acks} acks`,
      `${[...air.sent.values()].filter(({ confirmed }) => confirmed).length} messages confirmed by them`,
      `${this.#pushes.all.length} pushes`,
      `${this.#stamps.count} stamps`,
    ]
    return `${counts.join(', ')}, in ${seconds} s`
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).toReversed()) await close()
  }
}
