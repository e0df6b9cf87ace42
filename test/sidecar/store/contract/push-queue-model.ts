import { expect } from 'chai'
import type { PushClaim } from '../../../../sidecar/messages/push-queue.ts'

/** The coalescing window of the stores under test, in milliseconds. */
export const WINDOW_MS = 100_000
const DELAY_MS = 90_000
/** How a worker postpones a push. */
export const POSTPONED = { delayMs: DELAY_MS, tries: 1, refusals: 2 }

/**
 * The expected state of one device in the push queue. A test reports each step to it, and it checks the claims.
 *
 * - Without unpushed messages, nothing is due.
 * - The first message makes a push due at the end of its window.
 * - A worker's claim then holds the push until the worker settles or postpones it, or until its lease ends. Messages
 *   during the claim become due at the end of their own window.
 */
export class PushModel {
  #unpushed = 0
  #dueAt: number | undefined
  #oldestAt: number | undefined
  #firstTryAt = 0
  #tried = { tries: 0, refusals: 0 }
  #claim: PushClaim | undefined
  /** Time of the first message, and number of messages, since the claim. */
  #newestWindowAt: number | undefined
  #storedDuringClaim = 0

  /** Number of messages that no settled push has announced. */
  get unpushed(): number {
    return this.#unpushed
  }

  /** The claim of a worker, if one holds the push. */
  get claim(): PushClaim | undefined {
    return this.#claim
  }

  stored(now: number): void {
    this.#unpushed += 1
    this.#oldestAt ??= now
    if (this.#claim) {
      this.#storedDuringClaim += 1
      this.#newestWindowAt ??= now
    } else this.#dueAt ??= now + WINDOW_MS
  }

  /** Checks what a worker got for this device when it claimed all due pushes. */
  claimed(now: number, claim: PushClaim | undefined): void {
    if (this.#claim || this.#dueAt === undefined || this.#dueAt > now) {
      expect(claim).to.equal(undefined)
      return
    }
    if (this.#tried.tries === 0) this.#firstTryAt = now
    expect(claim?.unpushed.count).to.equal(this.#unpushed)
    expect(claim).to.include({
      ...this.#tried,
      firstTryMs: now - this.#firstTryAt,
      waitedMs: now - (this.#oldestAt ?? now),
    })
    this.#claim = claim
    this.#storedDuringClaim = 0
    this.#newestWindowAt = undefined
  }

  settled(now: number): void {
    this.#claim = undefined
    this.#tried = { tries: 0, refusals: 0 }
    this.#dueAt = this.#newestWindowAt && Math.max(now, this.#newestWindowAt + WINDOW_MS)
    this.#unpushed = this.#storedDuringClaim
    this.#oldestAt = this.#newestWindowAt
  }

  postponed(now: number): void {
    this.#claim = undefined
    this.#tried = { tries: POSTPONED.tries, refusals: POSTPONED.refusals }
    this.#dueAt = now + DELAY_MS
  }

  /** The lease of a claim has ended, so that any worker may claim the push at once. */
  leaseEnded(): void {
    if (this.#claim) this.#dueAt = 0
    this.#claim = undefined
  }
}
