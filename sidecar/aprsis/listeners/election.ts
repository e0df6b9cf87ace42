import type { Clock } from '../../clock.ts'
import type { AprsisSettings } from '../../config/settings.ts'
import { VERSION } from '../../config/version.ts'
import type { Log } from '../../log.ts'
import type { Instance, Instances, Lease, Leases } from '../../messages/leases.ts'
import type { CallsignSource } from './callsign-source.ts'
import { LeasedCallsigns } from './leased-callsigns.ts'
import {
  callsignLease,
  callsignsIn,
  type InstanceNote,
  type Listener,
  listenerNote,
  listenersIn,
  mayListen,
  slotLease,
  standsBy,
} from './listeners.ts'
import { Reach } from './reach.ts'
import { Rounds } from './rounds.ts'

/** The interfaces of a shared store that the election uses. */
export interface ElectionStore {
  readonly leases: Leases
  readonly instances: Instances
}

/** The settings, dependencies and callbacks that the link to APRS-IS passes to the election. */
export interface ElectionParts extends ElectionStore {
  readonly settings: AprsisSettings
  /** Number of instances that should listen. */
  readonly slots: number
  readonly clock: Clock
  readonly log: Log
  /** The callsigns of all connections that are not closed yet. */
  readonly callsignsInUse: () => ReadonlySet<string>
  /** The servers at which this instance is logged in. */
  readonly servers: () => ReadonlySet<string>
  /** Called when this instance becomes a listener. Its connections log in with `callsigns`. */
  readonly onElected: (callsigns: CallsignSource) => void
  /** Called when this instance stops being a listener. */
  readonly onDeposed: () => void
  /** Called when {@link CallsignSource.take} may return a callsign again. */
  readonly onCallsigns: () => void
  /** Called when other instances have leased callsigns that this instance had. */
  readonly onCallsignsLost: (callsigns: ReadonlySet<string>) => void
  /** Called at the end of a round of the election, when the data on other instances is up to date. */
  readonly onRound: () => void
}

/**
 * Decides which of the instances that share a store listen to APRS-IS, and gives each its callsigns. Every slot and
 * every callsign is a lease in the store.
 *
 * An instance is in one of these states:
 * - *Standby*: it holds no slot. In each round it tries to lease a free one. With a slot, it is a listener.
 * - *Listener*: in each round it renews the leases of its slot and callsigns. It is deposed if another instance has
 *   leased the slot meanwhile. It gives up the slot after 30 s without a login, if another instance is on standby.
 * - *Resting*: for 10 minutes after giving up a slot, it leases none, as long as another instance is on standby.
 *
 * While the store is unreachable, a listener keeps its logins but starts no new ones, because others may have taken
 * over its expired leases. The store grants an expired lease only to instances that were in contact for the duration of
 * a lease. So after an outage, the former holder can renew its lease first.
 */
export class Election {
  readonly #parts: ElectionParts
  readonly #callsigns: LeasedCallsigns
  readonly #rounds: Rounds
  readonly #reach: Reach
  #slot: number | undefined
  /** Wall-clock time at which this instance leased its listener slot. */
  #sinceMs: number | null = null
  #others: readonly Listener[] = []
  #wanted: number
  #failing = false
  #stopped = false

  constructor(parts: ElectionParts) {
    const { settings, clock, slots } = parts
    this.#parts = parts
    this.#wanted = slots
    this.#reach = new Reach(clock)
    this.#callsigns = new LeasedCallsigns(settings.callsign, clock, () => this.#rounds.request())
    this.#rounds = new Rounds({
      clock,
      round: () => this.#round(),
      isNeeded: () => this.#callsigns.isLacking,
      onSuccess: () => this.#onRenewed(),
      onFailure: (error) => this.#onNotRenewed(error),
    })
  }

  /** Starts the first round of the election. Call once. */
  start(): void {
    this.#introduce()
    this.#rounds.start()
  }

  /** The listener slot of this instance, from 0; undefined while it does not listen. */
  get slot(): number | undefined {
    return this.#slot
  }

  /** The other listening instances as of the last round of the election. */
  get others(): readonly Listener[] {
    return this.#others
  }

  /**
   * Number of instances that should listen: the number of slots, or the number of running instances that may listen,
   * whichever is smaller.
   */
  get wanted(): number {
    return this.#wanted
  }

  /** Stops the rounds of the election. Call before the connections are closed. */
  stop(): void {
    this.#stopped = true
    this.#rounds.stop()
  }

  /** Releases all leases of this instance. Call when all connections are closed. Never rejects. */
  async release(): Promise<void> {
    // A round of the election in progress may still lease a slot or a callsign, so its end is awaited first.
    await this.#rounds.idle()
    const slots = this.#slot === undefined ? [] : [slotLease(this.#slot)]
    const names = [...slots, ...this.#callsigns.held().map(callsignLease)]
    try {
      if (names.length > 0) await this.#parts.leases.release(names)
    } catch {
      // A failed release needs no retry, because leases expire by themselves.
    }
  }

  async #round(): Promise<void> {
    const { leases, instances, slots } = this.#parts
    const [heldLeases, present] = await Promise.all([leases.list(), instances.list()])
    this.#others = listenersIn(heldLeases, slots).filter(({ mine }) => !mine)
    this.#wanted = Math.max(1, Math.min(slots, present.filter(mayListen).length))
    if (this.#stopped) return
    await this.#holdOrSeekSlot(heldLeases, present)
    await this.#releaseUnused()
    this.#introduce()
    if (!this.#stopped) this.#parts.onRound()
  }

  async #holdOrSeekSlot(heldLeases: readonly Lease[], present: readonly Instance[]): Promise<void> {
    const { instances, settings, servers } = this.#parts
    const isReplaceable = present.some((instance) => instance.name !== instances.name && standsBy(instance))
    const slot = this.#slot
    if (slot === undefined) {
      if (settings.listen && !(isReplaceable && this.#reach.isResting)) await this.#seekSlot(heldLeases)
    } else if (this.#reach.isDeaf(servers().size > 0) && isReplaceable) await this.#giveUp(slot)
    else await this.#renew(heldLeases, slot)
  }

  async #seekSlot(heldLeases: readonly Lease[]): Promise<void> {
    const { leases, slots } = this.#parts
    const takenSlots = new Set(heldLeases.filter(({ mine }) => !mine).map(({ name }) => name))
    for (let slot = 0; slot < slots; slot++) {
      const name = slotLease(slot)
      if (takenSlots.has(name) || !(await leases.hold([name], listenerNote(new Set()))).has(name)) continue
      if (this.#stopped) this.#slot = slot
      else this.#becomeListener(slot)
      return
    }
  }

  /** Renews the leases of the slot and the callsigns in one request, so that all of them expire at the same time. */
  async #renew(heldLeases: readonly Lease[], slot: number): Promise<void> {
    const { leases, clock, servers, onCallsigns, onCallsignsLost } = this.#parts
    const callsigns = this.#callsigns
    const takenCallsigns = callsignsIn(heldLeases.filter((lease) => !lease.mine).map(({ name }) => name))
    const wasLacking = callsigns.isLacking
    const wishes = callsigns.wishes(takenCallsigns, slot === 0)
    const names = [slotLease(slot), ...[...callsigns.held(), ...wishes].map(callsignLease)]
    const requestedAt = { elapsed: clock.elapsed(), now: clock.now() }
    const held = await leases.hold(names, listenerNote(servers()))
    const lost = callsigns.answered(callsignsIn(held), wishes, requestedAt)
    if (this.#stopped) return
    if (!held.has(slotLease(slot))) {
      this.#deposed()
      return
    }
    if (lost.size > 0) onCallsignsLost(lost)
    if (wasLacking) onCallsigns()
  }

  /**
   * Releases the callsigns of connections that have ended, and callsigns that were leased for a connection but are not
   * needed.
   */
  async #releaseUnused(): Promise<void> {
    const { leases, callsignsInUse } = this.#parts
    const unused = this.#callsigns.dropUnused(callsignsInUse())
    if (unused.length > 0) await leases.release(unused.map(callsignLease))
  }

  #becomeListener(slot: number): void {
    this.#slot = slot
    this.#sinceMs = this.#parts.clock.now()
    this.#reach.reset()
    this.#parts.log.info('listener-elected', 'This instance listens to APRS-IS.', { listener: slot })
    this.#introduce()
    this.#parts.onElected(this.#callsigns)
  }

  #deposed(): void {
    this.#parts.log.warn(
      'listener-deposed',
      'Another instance listens to APRS-IS instead of this one, whose lease expired.',
      { listener: this.#slot },
    )
    this.#retire()
  }

  async #giveUp(slot: number): Promise<void> {
    const { leases, log } = this.#parts
    log.warn(
      'listener-gave-way',
      'This instance cannot reach APRS-IS, and lets another instance listen instead. Check the network of this machine.',
      { listener: slot },
    )
    this.#reach.rest()
    this.#retire()
    await leases.release([slotLease(slot)])
  }

  #retire(): void {
    this.#slot = undefined
    this.#sinceMs = null
    this.#introduce()
    this.#parts.onDeposed()
  }

  /** Publishes the state of this instance for the other instances. */
  #introduce(): void {
    const { settings, instances } = this.#parts
    const listen = settings.listen && !this.#reach.isResting
    const note: InstanceNote = { version: VERSION, listen, listener: this.#slot ?? null, sinceMs: this.#sinceMs }
    instances.publishNote(JSON.stringify(note))
  }

  #onRenewed(): void {
    if (this.#failing) this.#parts.log.info('leases-renewed', 'The leases of this listener are renewed again.')
    this.#failing = false
  }

  #onNotRenewed(error: unknown): void {
    if (!this.#failing && !this.#stopped)
      this.#parts.log.warn(
        'leases-not-renewed',
        'Could not read or renew the leases that decide which instance listens to APRS-IS; retrying. Logins that are up stay, and none begins.',
        { error },
      )
    this.#failing = true
  }
}
