import { MemoryStore, type SessionData } from 'express-session'
import type { FakeClock } from '../../support/fake-clock.ts'

/** A session store with operations that can be made to fail or hang. */
export class MoodyStore extends MemoryStore {
  mood: 'fine' | 'failing' | 'hanging' = 'fine'
  only: 'set' | 'destroy' | 'all' | 'any' = 'any'
  readonly #clock: FakeClock | undefined

  /** @param clock advances while the store hangs */
  constructor(clock?: FakeClock) {
    super()
    this.#clock = clock
  }

  override set(sid: string, data: SessionData, done?: (error?: unknown) => void): void {
    this.#run('set', done, () => super.set(sid, data, done ?? (() => undefined)))
  }
  override destroy(sid: string, done?: (error?: unknown) => void): void {
    this.#run('destroy', done, () => super.destroy(sid, done ?? (() => undefined)))
  }
  override all(done: (error: unknown, sessions?: Record<string, SessionData> | null) => void): void {
    this.#run('all', done, () => super.all(done))
  }
  /** Returns the keys of all entries. */
  entries(): string[] {
    return Object.keys(Reflect.get(this as object, 'sessions'))
  }
  /** Returns the ids of sessions, without the index entries for sids of the IdP. */
  ids(): string[] {
    return this.entries().filter((id) => !id.startsWith('oidc-sid-'))
  }
  #run(operation: 'set' | 'destroy' | 'all', done: ((error?: unknown) => void) | undefined, work: () => void): void {
    if (this.mood === 'fine' || (this.only !== 'any' && this.only !== operation)) work()
    else if (this.mood === 'failing') done?.(new Error('the disk is full'))
    // Longer than the time limit.
    else setImmediate(() => this.#clock?.advance(2_000))
  }
}
