import { isSameSpelling } from '../config/rules/issuer-spelling.ts'
import type { DomainSettings } from '../config/settings.ts'
import type { IssuerRule } from '../host/port.ts'
import { isSameIssuer } from '../provider/issuer/issuer-name.ts'

interface Accepted {
  readonly configured: string
  readonly previous: readonly string[]
  /** What the IdP calls itself; undefined until its metadata is known. */
  published?: string
}

/** Which issuers each domain accepts sessions of: the one that it has now, and those in `custom.previous_issuers`. */
export class AcceptedIssuers {
  readonly #domains = new Map<string, Accepted>()

  add({ key, issuer, custom }: Pick<DomainSettings, 'key' | 'issuer' | 'custom'>): void {
    this.#domains.set(key, { configured: issuer.issuer, previous: custom.previousIssuers })
  }

  /** Notes what the IdP of a domain publishes, which may be spelled otherwise than in the configuration. */
  notePublished(domainKey: string, issuer: string): void {
    const domain = this.#domains.get(domainKey)
    if (domain) domain.published = issuer
  }

  /** Sessions of a domain that this instance does not serve are none of its business. */
  readonly accepts: IssuerRule = ({ domainKey, issuer }) => {
    const domain = this.#domains.get(domainKey)
    // Nearly always, and asked at each request.
    if (!domain || domain.published === issuer) return true
    const { published, configured, previous } = domain
    if (previous.some((one) => isSameSpelling(one, issuer))) return true
    // Until discovery: an outage of the IdP signs nobody out.
    return published === undefined ? isSameIssuer(configured, issuer) : isSameSpelling(published, issuer)
  }
}
