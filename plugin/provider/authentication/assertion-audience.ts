/** The audience of a client assertion: `issuer`, `address` (the exact address of the request), or a literal value. */
type Audience = string

const DEFAULT_ORDER: readonly [Audience, Audience] = ['issuer', 'address']
/**
 * Limit of remembered endpoint addresses. A domain has four endpoints. Discovery may change their addresses while the
 * server runs.
 */
const MAX_ADDRESSES = 16

/** The audiences that an IdP accepts in client assertions, for each endpoint address. */
export interface AssertionAudiences {
  /**
   * Returns the audiences to try in a client assertion, in order. Returns only one audience if the configuration sets
   * it.
   */
  toTry(address: string, issuer: string): readonly [first: string, second?: string]
  /** Remembers an accepted audience. Later requests to this address try it first. */
  accept(address: string, issuer: string, audience: string): void
}

/**
 * Chooses the audience of a client assertion: the issuer (RFC 7523, section 3), or the endpoint's address if the IdP
 * accepts only that. Never both, because this allowed an attack, and Keycloak refuses it.
 *
 * @param configured `client.assertion_audience`
 * @param onLearned called once for each address that accepts only the second
 */
export function createAssertionAudiences(
  configured: Audience | undefined,
  onLearned: (address: string, audience: 'issuer' | 'address') => void,
): AssertionAudiences {
  const learned = new Map<string, readonly [Audience, Audience]>()
  const orderAt = (address: string) => learned.get(address) ?? DEFAULT_ORDER
  const audienceOf = (audience: Audience, address: string, issuer: string) =>
    audience === 'issuer' ? issuer : audience === 'address' ? address : audience
  return {
    toTry(address, issuer) {
      if (configured !== undefined) return [audienceOf(configured, address, issuer)]
      const [first, second] = orderAt(address)
      return [audienceOf(first, address, issuer), audienceOf(second, address, issuer)]
    },
    accept(address, issuer, audience) {
      const [first] = orderAt(address)
      if (configured !== undefined || audienceOf(first, address, issuer) === audience) return
      const learnedAudience = audience === issuer ? 'issuer' : 'address'
      if (learned.size >= MAX_ADDRESSES) learned.clear()
      learned.set(address, learnedAudience === 'issuer' ? ['issuer', 'address'] : ['address', 'issuer'])
      onLearned(address, learnedAudience)
    },
  }
}
