import { isSameSpelling } from '../config/rules/issuer-spelling.ts'
import type { DomainSettings } from '../config/settings.ts'
import type { IssuerRule } from '../host/port.ts'
import { isSameIssuer } from '../provider/issuer/issuer-name.ts'

interface DomainIssuers {
  readonly configured: string
  readonly previous: readonly string[]
  /** The issuer in the IdP's metadata; undefined until discovery. */
  published?: string
}

/** Knows from which issuers each domain accepts sessions: the current one, and `custom.previous_issuers`. */
export class AcceptedIssuers {
  readonly #domains = new Map<string, DomainIssuers>()

  add({ key, issuer, custom }: Pick<DomainSettings, 'key' | 'issuer' | 'custom'>): void {
    this.#domains.set(key, { configured: issuer.issuer, previous: custom.previousIssuers })
  }

  /** Notes the issuer that a domain's IdP publishes. Its spelling may differ from the configuration. */
  notePublished(domainKey: string, issuer: string): void {
    const domain = this.#domains.get(domainKey)
    if (domain) domain.published = issuer
  }

  /** Accepts every session of a domain that this instance does not serve. */
  readonly accepts: IssuerRule = ({ domainKey, issuer }) => {
    const domain = this.#domains.get(domainKey)
    // This runs at each request, and is nearly always true.
    if (!domain || domain.published === issuer) return true
    const { published, configured, previous } = domain
    if (previous.some((accepted) => isSameSpelling(accepted, issuer))) return true
    // Before discovery, the configured issuer counts, so that an outage of the IdP signs no user out.
    return published === undefined ? isSameIssuer(configured, issuer) : isSameSpelling(published, issuer)
  }
}
