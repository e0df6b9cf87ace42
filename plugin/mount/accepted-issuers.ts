import { isSameSpelling } from '../config/rules/issuer-spelling.ts'
import type { DomainSettings } from '../config/settings.ts'
import type { IssuerRule } from '../host/port.ts'
import { isSameIssuer } from '../provider/issuer/issuer-name.ts'

interface DomainIssuers {
  readonly configured: string
  readonly previous: readonly string[]
  /** The issuer in the IdP's metadata. Undefined until discovery succeeded. */
  published?: string
}

/** The issuers that each domain accepts in sessions: the current issuer, and those in `custom.previous_issuers`. */
export class AcceptedIssuers {
  readonly #domains = new Map<string, DomainIssuers>()

  add({ key, issuer, custom }: Pick<DomainSettings, 'key' | 'issuer' | 'custom'>): void {
    this.#domains.set(key, { configured: issuer.issuer, previous: custom.previousIssuers })
  }

  /** Stores the issuer that a domain's IdP publishes. Its spelling may differ from the configured one. */
  notePublished(domainKey: string, issuer: string): void {
    const domain = this.#domains.get(domainKey)
    if (domain) domain.published = issuer
  }

  /**
   * Whether the domain of a session accepts the session's issuer. Sessions of domains that this instance does not serve
   * are always accepted.
   */
  readonly accepts: IssuerRule = ({ domainKey, issuer }) => {
    const domain = this.#domains.get(domainKey)
    // Compare with the published issuer first, because nearly every session has it and this function runs at each
    // request.
    if (!domain || domain.published === issuer) return true
    const { published, configured, previous } = domain
    if (previous.some((accepted) => isSameSpelling(accepted, issuer))) return true
    // Before discovery succeeded, compare the session's issuer with the configured one, so that an outage of the IdP
    // signs no user out.
    return published === undefined ? isSameIssuer(configured, issuer) : isSameSpelling(published, issuer)
  }
}
