import type { SecretFileContent } from '../../config/credentials/client-secret-file.ts'
import type { DomainSettings } from '../../config/settings.ts'

/** The shortest time between two reads of the file, because with a wrong secret every login is refused. */
const READ_PAUSE_MS = 1_000

/** The content of a client secret's file that cannot be used. */
export type UnusableSecretFile = Extract<SecretFileContent, { readonly kind: 'unusable' }>

export interface SecretSource {
  /** Reads the file again. Never throws. */
  readonly read: (file: string) => SecretFileContent
  /** Called when the file contains another secret than before. That secret counts from now on. */
  readonly onReloaded: (file: string) => void
  /**
   * Called when the file cannot be used, so the previous secret still counts. Called once until the file can be used
   * again.
   */
  readonly onUnusable: (file: string, content: UnusableSecretFile) => void
}

/**
 * The client secret in the file that `client.client_secret_file` names.
 *
 * It starts with the secret that was read with the configuration. Only `reload` changes it. That happens after the IdP
 * refused this client, and after a signature did not match the secret. It also happens before a request is signed with
 * the secret, because this server may never see the IdP's refusal of that request. A file that cannot be used leaves
 * the secret unchanged, because an orchestrator may be about to replace it.
 */
export class ClientSecret {
  readonly #file: string
  readonly #source: SecretSource
  readonly #now: () => number
  #current: string
  #readAt = Number.NEGATIVE_INFINITY
  #isUsable = true

  /** @param now milliseconds since 1970 */
  constructor(file: string, current: string, source: SecretSource, now: () => number) {
    this.#file = file
    this.#current = current
    this.#source = source
    this.#now = now
  }

  get current(): string {
    return this.#current
  }

  /** Reads the file again, unless that happened less than a second ago. */
  reload(): void {
    const now = this.#now()
    // A clock that was set back must not prevent reading for long.
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
   * Runs work that depends on the secret. If it fails and the file now contains another secret, the work runs once
   * more.
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

/** Returns the settings with a `client_secret` that always is the current one. */
export function withCurrentSecret(settings: DomainSettings, secret: ClientSecret): DomainSettings {
  const client = {
    ...settings.client,
    get client_secret() {
      return secret.current
    },
  }
  return { ...settings, client }
}
