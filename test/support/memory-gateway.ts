import { createRecorder } from '../../fixtures/push/recorder.ts'
import type { Notification, PushGateway, PushOutcome } from '../../sidecar/push/gateway/gateway.ts'

/** A notification that the gateway accepted. */
export type Taken = Notification & { readonly token: string }

/** A push gateway in memory. It accepts each notification at once, unless a test sets `ready`. */
export class MemoryGateway implements PushGateway {
  readonly #taken = createRecorder<Taken>('notification')
  readonly #gone = new Set<string>()
  /** The gateway answers notifications only after this promise has settled. */
  ready: Promise<unknown> | undefined
  /** Number of calls of `send`. */
  attempts = 0

  /** Accepted notifications, oldest first. */
  get received(): readonly Taken[] {
    return this.#taken.items
  }

  /** Resolves with the first notification that `fits`, which may have been accepted before. */
  waitFor(fits: (delivery: Taken) => boolean): Promise<Taken> {
    return this.#taken.waitFor(fits)
  }

  /** Makes the gateway report a token dead, as if the app had been removed from the phone. */
  uninstall(token: string): void {
    this.#gone.add(token)
  }

  async send(token: string, notification: Notification): Promise<PushOutcome> {
    this.attempts += 1
    await this.ready
    if (this.#gone.has(token)) return { kind: 'token_gone', reason: 'the app was removed' }
    this.#taken.add({ ...notification, token })
    return { kind: 'accepted' }
  }

  async close(): Promise<void> {
    this.#taken.close()
  }
}
