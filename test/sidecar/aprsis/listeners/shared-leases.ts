import type { ElectionStore } from '../../../../sidecar/aprsis/listeners/election.ts'
import type { Clock } from '../../../../sidecar/clock.ts'
import { type Instance, LEASE_MS } from '../../../../sidecar/messages/leases.ts'

interface Held {
  readonly instance: string
  readonly until: number
  readonly note: string
}

/** An instance counts as having been away after this time without an answer. */
const BREAK_MS = LEASE_MS / 2

/** Leases in memory that several instances share. They follow the rules of the port, on a clock that tests advance. */
export class SharedLeases {
  readonly #clock: Pick<Clock, 'elapsed'>
  readonly #held = new Map<string, Held>()
  readonly #instances = new Map<string, Instance & { readonly seenAt: number }>()
  /** The names of instances that cannot reach the leases. */
  readonly unreachableBy = new Set<string>()

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock
  }

  /** Returns the holder of each lease. */
  holders(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.#current()].map(([name, { instance }]) => [name, instance]))
  }

  of(name: string): ElectionStore {
    const notes = { own: '' }
    const contact = { since: Number.POSITIVE_INFINITY, last: Number.NEGATIVE_INFINITY }
    const reach = (): number => {
      const now = this.#clock.elapsed()
      if (this.unreachableBy.has(name)) throw new Error('The store is away.')
      if (now - contact.last > BREAK_MS) contact.since = now
      contact.last = now
      this.#instances.set(name, { name, startedAt: 0, note: notes.own, seenAt: now })
      return now
    }
    return {
      leases: {
        hold: async (names, note = '') => {
          const now = reach()
          const mayTakeOver = now - contact.since >= LEASE_MS
          const granted = names.filter((item) => {
            const held = this.#held.get(item)
            return !held || held.instance === name || (held.until <= now && mayTakeOver)
          })
          for (const entry of granted) this.#held.set(entry, { instance: name, until: now + LEASE_MS, note })
          return new Set(granted)
        },
        release: async (names) => {
          reach()
          for (const item of names) if (this.#held.get(item)?.instance === name) this.#held.delete(item)
        },
        list: async () => {
          reach()
          return [...this.#current()].map(([one, { instance, note }]) => ({
            name: one,
            instance,
            note,
            mine: instance === name,
          }))
        },
      },
      instances: {
        name,
        list: async () => {
          const now = reach()
          return [...this.#instances.values()].filter(({ seenAt }) => now - seenAt < LEASE_MS)
        },
        publishNote: (note) => {
          notes.own = note
        },
      },
    }
  }

  *#current(): Iterable<[string, Held]> {
    const now = this.#clock.elapsed()
    for (const [name, held] of this.#held) if (held.until > now) yield [name, held]
  }
}
