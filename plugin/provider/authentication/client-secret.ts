import type { SecretFileContent } from '../../config/credentials/client-secret-file.ts'
import type { DomainSettings } from '../../config/settings.ts'

/** How often the file is read again at most: a wrong secret is refused at every login. */
const AGAIN_MS = 1_000

/** The content of a client secret's file that is of no use. */
export type UnusableSecretFile = Extract<SecretFileContent, { readonly kind: 'unusable' }>

export interface SecretSource {
  /** Reads the file again. Never throws. */
  readonly read: (file: string) => SecretFileContent
  /** The file holds another secret than before, which counts from now on. */
  readonly onReloaded: (file: string) => void
  /** The file cannot be used, and the secret before goes on counting. Called once until the file can be used again. */
  readonly onUnusable: (file: string, content: UnusableSecretFile) => void
}

/**
 * The client secret that `client.client_secret_file` holds. It starts with what was read with the configuration, and
 * changes only by `reload`: after the IdP refused this client, after a signature that the secret does not fit, and
 * before a request that is signed by the secret, whose refusal this server may never see. A file that cannot be used
 * leaves the secret as it was: an orchestrator may be about to replace it.
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

  /** Reads the file again, unless it was read less than a second ago. */
  reload(): void {
    const now = this.#now()
    // A clock that was set back must not stop it for long.
    if (now >= this.#readAt && now - this.#readAt < AGAIN_MS) return
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

  /** Does what depends on the secret. If that fails, and the file holds another secret by now, it is done once more. */
  async withRetry<Result>(work: () => Promise<Result>): Promise<Result> {
    const before = this.#current
    try {
      return await work()
    } catch (error) {
      if (this.#current === before) this.reload()
      if (this.#current === before) throw error
      return work()
    }
  }
}

/** The settings with the client secret that counts at the time when it is looked at. */
export function withCurrentSecret(settings: DomainSettings, secret: ClientSecret): DomainSettings {
  const client = {
    ...settings.client,
    get client_secret() {
      return secret.current
    },
  }
  return { ...settings, client }
}
