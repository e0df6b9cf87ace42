import type { Clock, Timer } from '../../clock.ts'
import type { AprsisSettings } from '../../config/settings.ts'
import { VERSION } from '../../config/version.ts'
import type { Log } from '../../log.ts'
import type { Instances, Lease, Leases } from '../../messages/leases.ts'
import type { CallsignSource } from './callsign-source.ts'
import { createLeasedCallsigns } from './leased-callsigns.ts'
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

/** How often leases are renewed, and those of others looked at. */
const ROUND_MS = 1000

/**
 * A listener without any login for this long gives its place to one that may reach APRS-IS. Passing faults are mended
 * in less.
 */
const DEAF_MS = 30_000

/**
 * How long it then leaves the place to others, as long as there are any: when nobody reaches APRS-IS, it is not to go
 * round.
 */
const REST_MS = 600_000

/** What processes that share a store share of APRS-IS. */
export interface Shared {
  readonly leases: Leases
  readonly instances: Instances
}

export interface ElectionOptions extends Shared {
  readonly settings: AprsisSettings
  /** How many instances are to listen. */
  readonly slots: number
  readonly clock: Clock
  readonly log: Log
  /** Calls of connections that are not closed yet, and the servers of those that are up. */
  callsInUse(): ReadonlySet<string>
  servers(): ReadonlySet<string>
  /** From now on this instance is a listener, by these calls. */
  onElected(calls: CallsignSource): void
  /** Somebody else has its place, or is to have it. */
  onDeposed(): void
  /** {@link CallsignSource.take} may have another answer. */
  onCalls(): void
  /** Somebody else has these calls. */
  onCallsLost(calls: ReadonlySet<string>): void
  /** What others do was looked at. */
  onLook(): void
}

/** Which of the instances listen, and with which calls. */
export interface Election {
  /** From 0; undefined while this instance does not listen. */
  readonly slot: number | undefined
  /** Which are other instances' is known from the last look. */
  readonly others: readonly Listener[]
  /** How many should listen, of those that are there and may. */
  readonly wanted: number
  /** No more rounds: to be called before the connections are closed. */
  stop(): void
  /** Lets others have what it held: to be called when all connections are closed. Never rejects. */
  release(): Promise<void>
}

/**
 * Takes part in it. While the store is away, whoever listens goes on with the logins that are up, and begins none: what
 * lapses meanwhile may be somebody else's. Since a lapsed lease is given to others only after these have been in touch
 * with the store for as long as a lease lasts, its holder finds it when all are back.
 */
export function joinElection(options: ElectionOptions): Election {
  const { leases, instances, settings, slots, clock, log } = options
  const calls = createLeasedCallsigns(settings.callsign, clock, () => soon())
  let slot: number | undefined
  let sinceMs: number | null = null
  let others: readonly Listener[] = []
  let wanted = slots
  let deafSince: number | undefined
  let restsUntil = Number.NEGATIVE_INFINITY
  let timer: Timer | undefined
  let round: Promise<void> | undefined
  let again = false
  let failing = false
  let stopped = false

  function soon(): void {
    again = true
    if (!round) next()
  }

  function next(): void {
    again = false
    timer?.cancel()
    const startedAt = clock.elapsed()
    round = hold().then(works, fails)
    void round.then(() => {
      round = undefined
      if (stopped) return
      if (again && calls.lacking) next()
      else timer = clock.after(Math.max(0, startedAt + ROUND_MS - clock.elapsed()), next)
    })
  }

  function works(): void {
    if (failing) log.info('leases-renewed', 'The leases that say who listens to APRS-IS are renewed again.')
    failing = false
  }

  function fails(error: unknown): void {
    if (!failing && !stopped)
      log.warn(
        'leases-not-renewed',
        'The store does not say who listens to APRS-IS: logins that are up stay, and none is begun.',
        { error },
      )
    failing = true
  }

  async function hold(): Promise<void> {
    const [known, present] = await Promise.all([leases.list(), instances.list()])
    look(known)
    wanted = Math.max(1, Math.min(slots, present.filter(mayListen).length))
    if (stopped) return
    const isReplaceable = present.some((one) => one.name !== instances.name && standsBy(one))
    if (slot !== undefined && isDeaf() && isReplaceable) await giveWay(slot)
    else if (slot !== undefined) await renew(known, slot)
    else if (settings.listen && !(isReplaceable && isResting())) await standForElection(known)
    await giveBack()
    introduce()
    if (!stopped) options.onLook()
  }

  function look(known: readonly Lease[]): void {
    others = listenersIn(known, slots).filter(({ mine }) => !mine)
  }

  async function standForElection(known: readonly Lease[]): Promise<void> {
    const taken = new Set(known.filter(({ mine }) => !mine).map(({ name }) => name))
    for (let free = 0; free < slots; free++) {
      const name = slotLease(free)
      if (taken.has(name) || !(await leases.hold([name], listenerNote(new Set()))).has(name)) continue
      if (stopped) slot = free
      else enter(free)
      return
    }
  }

  function isDeaf(): boolean {
    if (options.servers().size > 0) deafSince = undefined
    else deafSince ??= clock.elapsed()
    return deafSince !== undefined && clock.elapsed() - deafSince >= DEAF_MS
  }

  function isResting(): boolean {
    return clock.elapsed() < restsUntil
  }

  async function giveWay(mine: number): Promise<void> {
    log.warn('listener-gave-way', 'This instance does not reach APRS-IS, and another one is there to listen.', {
      listener: mine,
    })
    restsUntil = clock.elapsed() + REST_MS
    retire()
    await leases.release([slotLease(mine)])
  }

  /** Slot and calls in one statement, so that they lapse together. */
  async function renew(known: readonly Lease[], mine: number): Promise<void> {
    const taken = callsignsIn(known.filter((lease) => !lease.mine).map(({ name }) => name))
    const wasLacking = calls.lacking
    const wishes = calls.wishes(taken, mine === 0)
    const names = [slotLease(mine), ...[...calls.held(), ...wishes].map(callsignLease)]
    const askedAt = { elapsed: clock.elapsed(), now: clock.now() }
    const held = await leases.hold(names, listenerNote(options.servers()))
    const lost = calls.answered(callsignsIn(held), wishes, askedAt)
    if (stopped) return
    if (!held.has(slotLease(mine))) {
      leave()
      return
    }
    if (lost.size > 0) options.onCallsLost(lost)
    if (wasLacking) options.onCalls()
  }

  /** Of connections that ended, and what was asked for and is not needed. */
  async function giveBack(): Promise<void> {
    const unused = calls.dropUnused(options.callsInUse())
    if (unused.length > 0) await leases.release(unused.map(callsignLease))
  }

  function enter(free: number): void {
    slot = free
    sinceMs = clock.now()
    deafSince = undefined
    restsUntil = Number.NEGATIVE_INFINITY
    log.info('listener-elected', 'This instance listens to APRS-IS.', { listener: free })
    introduce()
    options.onElected(calls)
  }

  function leave(): void {
    log.warn('listener-deposed', 'Another instance listens to APRS-IS in place of this one, whose lease lapsed.', {
      listener: slot,
    })
    retire()
  }

  function retire(): void {
    slot = undefined
    sinceMs = null
    introduce()
    options.onDeposed()
  }

  function introduce(): void {
    const listen = settings.listen && !isResting()
    const note: InstanceNote = { version: VERSION, listen, listener: slot ?? null, sinceMs }
    instances.publishNote(JSON.stringify(note))
  }

  introduce()
  next()
  return {
    get slot() {
      return slot
    },
    get others() {
      return others
    },
    get wanted() {
      return wanted
    },
    stop() {
      stopped = true
      timer?.cancel()
    },
    async release() {
      // What a round still takes would stay taken.
      await round
      const names = [...(slot === undefined ? [] : [slotLease(slot)]), ...calls.held().map(callsignLease)]
      try {
        if (names.length > 0) await leases.release(names)
      } catch {
        // They lapse by themselves.
      }
    },
  }
}
