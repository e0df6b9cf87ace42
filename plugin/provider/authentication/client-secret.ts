import type { SecretFileContent } from '../../config/credentials/client-secret-file.ts'
import type { DomainSettings } from '../../config/settings.ts'

/**
 * The shortest time between two reads of the client secret file. Without this limit, every login would read the file
 * while its secret is wrong.
 */
const READ_PAUSE_MS = 1_000

/** The result of reading a client secret file that cannot be used. */
export type UnusableSecretFile = Extract<SecretFileContent, { readonly kind: 'unusable' }>

export interface SecretSource {
  /** Reads the client secret file again. Never throws. */
  readonly read: (file: string) => SecretFileContent
  /** Called when the file contains a new secret. The new secret applies immediately. */
  readonly onReloaded: (file: string) => void
  /**
   * Called when the file cannot be used and the previous secret stays in use. Called once for each period in which the
   * file is unusable.
   */
  readonly onUnusable: (file: string, content: UnusableSecretFile) => void
}

/**
 * The client secret in the file that `client.client_secret_file` names. Only `reload` changes it. The plugin calls
 * `reload`:
 *
 * - After the IdP refused this client.
 * - After the signature of a received token did not match the secret.
 * - Before the secret signs a request object, because the IdP shows a refusal only to the browser.
 *
 * If the file cannot be used, the secret stays unchanged, because an orchestrator may be about to replace the file.
 */
export class ClientSecret {
  readonly #file: string
  readonly #source: SecretSource
  readonly #now: () => number
  #current: string
  #readAt = Number.NEGATIVE_INFINITY
  #isUsable = true

  /** @param now returns the current time in milliseconds since 1970 */
  constructor(file: string, current: string, source: SecretSource, now: () => number) {
    this.#file = file
    this.#current = current
    this.#source = source
    this.#now = now
  }

  get current(): string {
    return this.#current
  }

  /** Reads the client secret file again, unless that happened less than a second ago. */
  reload(): void {
    const now = this.#now()
    // If the clock was set back, read the file now. Otherwise it would not be read until the clock has caught up.
    if (now >= this.#readAt && now - this.#readAt < READ_PAUSE_MS) return
    this.#readAt = now
    const content = this.#source.read(this.#file)
    if (content.kind === 'unusable') {
      if (this.#isUsable) this.#source.onUnusable(this.#file, content)
      this.#isUsable = false
      return
    }
    this.#isUsable = true
    if (content.secret === this.#current) return
    this.#current = content.secret
    this.#source.onReloaded(this.#file)
  }

  /**
   * Runs work that depends on the client secret. If the work fails and the secret's file now contains another secret,
   * runs the work once more.
   */
  async withRetry<Result>(work: () => Promise<Result>): Promise<Result> {
    const previous = this.#current
    try {
      return await work()
    } catch (error) {
      if (this.#current === previous) this.reload()
      if (this.#current === previous) throw error
      return work()
    }
  }
}

/** Returns the settings with a `client_secret` that always returns the current secret. */
export function withCurrentSecret(settings: DomainSettings, secret: ClientSecret): DomainSettings {
  const client = {
    ...settings.client,
    get client_secret() {
      return secret.current
    },
  }
  return { ...settings, client }
}
