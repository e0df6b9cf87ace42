import { createRecorder } from '../../fixtures/push/recorder.ts'
import type { Notification, PushGateway, PushOutcome } from '../../sidecar/push/gateway/gateway.ts'

/** A notification that a gateway took. */
export type Taken = Notification & { readonly token: string }

/** A push gateway in memory. It accepts everything at once, unless a test makes it wait. */
export class MemoryGateway implements PushGateway {
  readonly #taken = createRecorder<Taken>('notification')
  readonly #gone = new Set<string>()
  /** It answers no notification before that. */
  ready: Promise<unknown> | undefined
  /** How often it was asked to send. */
  attempts = 0

  /** Accepted notifications, oldest first. */
  get received(): readonly Taken[] {
    return this.#taken.items
  }

  /** The first one, past or future, that fits. */
  waitFor(fits: (delivery: Taken) => boolean): Promise<Taken> {
    return this.#taken.waitFor(fits)
  }

  /** The app was removed from the phone. */
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
