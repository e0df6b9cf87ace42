import { type Certificates, makeCertificates } from '../../../../fixtures/certificate.ts'
import { type Postgres, startPostgres } from '../../../../fixtures/demo/postgres.ts'
import { startWebPush, type WebPushFixture } from '../../../../fixtures/push/webpush.ts'
import { passcodeOf } from '../../../../sidecar/aprs/passcode.ts'
import { createSidecarFolder } from '../../../support/sidecar-process.ts'
import { Happenings } from '../happenings.ts'
import { Pushes } from '../pushes.ts'
import { Caller } from './callers.ts'
import { Instance } from './instance.ts'
import { Mail } from './mail.ts'
import { makeNewerVersion } from './newer-version.ts'
import { type Dice, diceOf } from './random.ts'
import { type Site, startSite } from './site.ts'
import { storedLetters } from './stored-letters.ts'
import { judge, type Verdict } from './verdict.ts'

const LOGIN = 'N0CALL-10'
const NAMES = ['one', 'two', 'three']
const LISTENERS = 2
const COALESCE_MS = 1000
const FREEZE_MS = 8000
/** Time after which a thawed instance on a busy machine surely knows the state of its leases. */
const FINDS_OUT_MS = 10_000
const TICK_MS = 20
const REGISTER_EVERY = 10
/** Every fifth station has two more phones. */
const PHONES_EVERY = 5
/** Time limit of waits, long enough for a busy machine. */
const PATIENCE_MS = 90_000
/** Time after which all instances on a busy machine surely use a database that came back. */
const AFTERMATH_MS = 20_000

/** The size of a run, and the seed of its random choices. */
export interface Scale {
  readonly seed: number
  readonly stations: number
  readonly messagesPerSecond: number
  readonly callsPerSecond: number
  /** Pause between two faults. */
  readonly restMs: number
  /** How long the traffic lasts at most: the rings are made so large that they keep everything. */
  readonly seconds: number
}

/** Three sidecars on one PostgreSQL, with their surroundings, users and faults. Two of the sidecars listen. */
export class SeveralChaos {
  /** A violation does not stop the run: the verdict covers all of it. */
  readonly happenings = new Happenings({ goesOn: true })
  readonly #scale: Scale
  readonly #dice: Dice
  readonly #told = new Pushes(this.happenings)
  readonly #closers: (() => unknown)[] = []
  readonly #instances: Instance[] = []
  readonly #callers: readonly Caller[]
  readonly #stations: readonly string[]
  readonly #takeoversMs: number[] = []
  readonly #databaseKilledAt: number[] = []
  readonly #counts = { kills: 0, freezes: 0, upgrades: 0, calls: 0 }
  #mail: Mail | undefined
  #postgres: Postgres | undefined
  #webPush: WebPushFixture | undefined
  #troubleUntil = 0
  #turn: readonly Caller[] = []

  constructor(scale: Scale) {
    this.#scale = scale
    this.#dice = diceOf(scale.seed)
    const mayFail = () => performance.now() < this.#troubleUntil
    const subscribe = (publicKey: string) => JSON.stringify(this.#webPush?.subscribe(publicKey))
    const parts = { happenings: this.happenings, mayFail, subscribe }
    this.#callers = Array.from({ length: scale.stations }, (_, station) =>
      (station % PHONES_EVERY === 0 ? [0, 1, 2] : [0]).map((ordinal) => new Caller({ station, ordinal }, parts)),
    ).flat()
    this.#stations = this.#callers.filter(({ isFirst }) => isFirst).map(({ key }) => key)
  }

  async start(): Promise<void> {
    const postgres = await startPostgres()
    this.#postgres = postgres
    this.#closers.push(() => postgres.stop())
    const certificates = await makeCertificates()
    const webPush = await this.#startWebPush(certificates)
    for (const name of NAMES)
      this.#instances.push(await this.#instance(name, postgres.address, { certificates, webPush }))
    await Promise.all(this.#instances.map((instance) => instance.start()))
    for (const caller of this.#callers)
      if (!(await caller.register(this.#anyone()))) throw new Error(`${caller.name} could not register`)
    await this.#untilTwoListen()

    const sites = this.#instances.map(({ site }) => site)
    const mail = new Mail({
      stations: this.#stations,
      perStation: this.#perStation,
      sites,
      dice: this.#dice,
      happenings: this.happenings,
      isHeardTwice: () => this.#listening() >= LISTENERS,
    })
    this.#mail = mail
    this.#closers.push(() => mail.stop())
    const calling = setInterval(() => this.#callSome(), TICK_MS)
    this.#closers.push(() => clearInterval(calling))
    mail.start(this.#scale.messagesPerSecond)
  }

  /**
   * One gateway for all instances, because the registering phone chooses it. Signatures tell which instance sent a
   * push.
   */
  async #startWebPush(certificates: Certificates): Promise<WebPushFixture> {
    const webPush = await startWebPush({
      certificates,
      onReceived: ({ endpoint, payload, subject }) => {
        const sender = this.#instances.find(({ name }) => subject === subjectOf(name))
        if (sender) this.#told.take(endpoint, payload, payload.body, sender.life)
        else this.happenings.blame(`a notification was signed by ${subject}`)
      },
    })
    this.#webPush = webPush
    this.#closers.push(() => webPush.close())
    return webPush
  }

  async #instance(
    name: string,
    database: string,
    { certificates, webPush }: { readonly certificates: Certificates; readonly webPush: WebPushFixture },
  ) {
    const { happenings } = this
    // The site is the instance's own, so `instance` is set before any event.
    let instance: Instance
    const site = await startSite(`T2${name.toUpperCase()}`, {
      certificates,
      happenings,
      onPush: (token, data) => this.#told.take(token, data, undefined, instance.life),
      onAck: (line) => this.#mail?.takeAck(line),
      onLogin: (call) => this.#checkCall(call, site),
    })
    this.#closers.push(() => site.close())
    const folder = await createSidecarFolder()
    this.#closers.push(() => folder.remove())
    instance = await Instance.open({ name, site, happenings }, folder, {
      instance: name,
      database,
      aprsis: { ...site.aprsis, callsign: LOGIN, passcode: passcodeOf(LOGIN), filterDebounceMs: 50 },
      // Acks keep the default minimum interval of 31 s. The other limits for senders and phones are too high to matter.
      history: { perStation: this.#perStation },
      push: { coalesceMs: COALESCE_MS, ...site.push, webpush: { ...webPush.settings, subject: subjectOf(name) } },
      ack: { maxPerSenderPerMinute: 1000 },
      rateLimit: { max: 1_000_000, newStationsPerHour: 100_000, connectionsPerAddress: 10_000 },
    })
    this.#closers.push(() => instance.abandon())
    return instance
  }

  /** How many messages a station's history keeps. */
  get #perStation(): number {
    const { messagesPerSecond, seconds, stations } = this.#scale
    return Math.max(50, Math.ceil((messagesPerSecond * seconds) / stations))
  }

  /**
   * Reports a login with a callsign that another instance uses, because servers drop the older login. Excuses an
   * instance for a while after its thaw, until it notices that its leases are lost.
   */
  #checkCall(call: string, heardAt: Site): void {
    const knows = performance.now() - FINDS_OUT_MS
    for (const { name, site, isAwake, thawedAt } of this.#instances)
      if (site !== heardAt && isAwake && thawedAt < knows && site.calls.has(call))
        this.happenings.blame(`${call} logged in while ${name} was logged in by it`)
  }

  #anyone(): Instance {
    return this.#instances[this.#dice.below(this.#instances.length)] as Instance
  }

  /** Sends the requests that are due, one after the other, in a new order each time. */
  #callSome(): void {
    for (let count = (this.#scale.callsPerSecond * TICK_MS) / 1000; count > 0; count -= 1) {
      if (this.#turn.length === 0) this.#turn = this.#dice.shuffled(this.#callers)
      const [caller] = this.#turn
      this.#turn = this.#turn.slice(1)
      if (caller && !caller.calling) void this.#call(caller)
    }
  }

  async #call(caller: Caller): Promise<void> {
    caller.calling = true
    const callee = this.#anyone()
    if (this.#dice.below(REGISTER_EVERY) === 0) await caller.register(callee)
    else await caller.sync(callee)
    this.#counts.calls += 1
    caller.calling = false
    this.happenings.tell()
  }

  #listening(): number {
    return this.#instances.filter(({ isAwake, site }) => isAwake && site.hears(this.#stations)).length
  }

  #untilTwoListen(): Promise<void> {
    return this.happenings.until(
      () => this.#instances.every(({ isAwake }) => isAwake) && this.#listening() >= LISTENERS,
      'all were there and two listened',
      PATIENCE_MS,
    )
  }

  /**
   * Waits `restMs` without a fault, and then until a fault of any instance may follow. All instances must run, and two
   * must listen. Every message that possibly only one instance received must be stored. Otherwise, a fault of that
   * instance may lose a message that is still unread.
   */
  async #rest(restMs = this.#scale.restMs): Promise<void> {
    // The second listener that received a message may be the victim of the last fault.
    this.#mail?.heardOnce()
    await this.happenings.atMost(restMs, () => false)
    const end = performance.now() + PATIENCE_MS
    await this.#untilTwoListen()
    while (!(await this.#mayBeHit()) && performance.now() < end) {
      await this.happenings.atMost(TICK_MS, () => false)
      await this.#untilTwoListen()
    }
  }

  async #mayBeHit(): Promise<boolean> {
    const count = this.#mail?.countHeardOnce ?? 0
    const stored = await storedLetters(this.#postgres?.address ?? '', count)
    return stored === count && this.#mail?.countHeardOnce === count && this.#listening() >= LISTENERS
  }

  /** Notes how long it takes until two listen, if `victim` was one of them. */
  #timeTakeover(victim: Instance): void {
    if (!victim.site.hears(this.#stations)) return
    const begun = performance.now()
    void this.happenings
      .until(() => this.#listening() >= LISTENERS, 'two listened again', PATIENCE_MS)
      .then(
        () => this.#takeoversMs.push(performance.now() - begun),
        () => undefined, // another wait for the same condition reports the failure
      )
  }

  #startAgain(instance: Instance): void {
    instance.start().catch((error: Error) => this.happenings.blame(error.message))
  }

  /** Returns the instances in random order, listeners first. */
  #victims(): readonly Instance[] {
    const listens = ({ site }: Instance) => (site.hears(this.#stations) ? 0 : 1)
    return this.#dice.shuffled(this.#instances).toSorted((a, b) => listens(a) - listens(b))
  }

  /** Kills an instance with `kill -9`, and starts it again at once. */
  async kill(victim: Instance): Promise<void> {
    this.#counts.kills += 1
    const killed = victim.kill()
    this.#timeTakeover(victim)
    await killed
    this.#startAgain(victim)
  }

  /** Freezes an instance for longer than its leases last. */
  async freeze(victim: Instance): Promise<void> {
    victim.freeze()
    this.#counts.freezes += 1
    this.#timeTakeover(victim)
    await this.happenings.atMost(FREEZE_MS, () => false)
    victim.thaw()
  }

  /** Kills the database, and restarts it within two seconds. Meanwhile, `victim` is also killed and started again. */
  async killDatabase(victim?: Instance): Promise<void> {
    this.#troubleUntil = Number.POSITIVE_INFINITY
    this.#databaseKilledAt.push(performance.now())
    await this.#postgres?.kill()
    if (victim) {
      this.#counts.kills += 1
      await victim.kill()
      this.#startAgain(victim)
    }
    await this.happenings.atMost(500 + this.#dice.below(1500), () => false)
    await this.#postgres?.startAgain()
    this.#troubleUntil = performance.now() + AFTERMATH_MS
  }

  /** Waits until the instances are at rest, and then causes a fault at one listener. */
  async oneOf(befall: (victim: Instance) => Promise<void>): Promise<void> {
    await this.#rest()
    await befall(this.#victims()[0] as Instance)
  }

  /** Causes a fault at one instance after the other, until `seconds` have passed. */
  async eachInTurn(seconds: number, befall: (victim: Instance) => Promise<void>): Promise<void> {
    const end = performance.now() + seconds * 1000
    while (performance.now() < end)
      for (const victim of this.#victims()) {
        await this.#rest()
        if (performance.now() < end) await befall(victim)
      }
  }

  /** Kills the database `times` times, spread over `seconds`. Every second time, an instance is also killed. */
  async killDatabaseOften(times: number, seconds: number): Promise<void> {
    for (let time = 0; time < times; time++) {
      await this.#rest((seconds * 1000) / (times + 1))
      await this.killDatabase(time % 2 === 1 ? this.#anyone() : undefined)
    }
    await this.happenings.atMost((seconds * 1000) / (times + 1), () => false)
  }

  /** Runs the faults in `rage`, and then waits until the instances are at rest. Records errors for the verdict. */
  async endure(rage: () => Promise<void>): Promise<void> {
    try {
      await rage()
      await this.#calm()
    } catch (error) {
      this.happenings.blame(String(error))
      this.#mail?.stop()
    }
  }

  /**
   * Restarts the instances one after the other as a version with one more schema step, after a stop or a `kill -9`,
   * spread over `seconds`.
   */
  async upgradeAll(seconds: number): Promise<void> {
    const newer = await makeNewerVersion()
    this.#closers.unshift(() => newer.remove())
    const restMs = (seconds * 1000) / (this.#instances.length + 1)
    for (const [place, victim] of this.#victims().entries()) {
      await this.#rest(restMs)
      this.#counts.upgrades += 1
      victim.main = newer.main
      if (place % 2 === 0) {
        await victim.stop()
        this.#startAgain(victim)
      } else await this.kill(victim)
    }
    await this.happenings.atMost(restMs, () => false)
  }

  /** Ends all faults, and waits until everything has come to rest, or much longer than that takes. */
  async #calm(): Promise<void> {
    const { happenings } = this
    this.#mail?.stop()
    await this.#untilTwoListen()
    const due = this.#due()
    await happenings.atMost(PATIENCE_MS, () => this.#shown() >= due)
    await happenings.atMost(PATIENCE_MS, () =>
      this.#callers.every(({ target, shown }) => this.#told.newestOf(target) === shown.at(-1)?.id),
    )
  }

  /** Number of messages that all phones together must show. */
  #due(): number {
    const letters = new Map<string, number>()
    for (const { to } of this.#mail?.letters.values() ?? []) letters.set(to, (letters.get(to) ?? 0) + 1)
    return this.#callers.reduce((sum, { key }) => sum + (letters.get(key) ?? 0), 0)
  }

  #shown(): number {
    return this.#callers.reduce((sum, { shown }) => sum + shown.length, 0)
  }

  async verdict(): Promise<Verdict> {
    const { kills, freezes, upgrades, calls } = this.#counts
    return judge({
      callers: this.#callers,
      letters: this.#mail?.letters ?? new Map(),
      told: this.#told,
      instances: this.#instances,
      faults: this.happenings.faults,
      takeoversMs: this.#takeoversMs,
      databaseKilledAt: this.#databaseKilledAt,
      isKilled: kills + upgrades > 0,
      figures: {
        stations: this.#stations.length,
        phones: this.#callers.length,
        kills,
        freezes,
        upgrades,
        'kills of the database': this.#databaseKilledAt.length,
        calls,
      },
    })
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).toReversed()) await close()
  }
}

/** The Web Push subject of an instance. It shows which instance sent a notification. */
function subjectOf(name: string): string {
  return `mailto:${name}@example.org`
}
