/** `issuer`, `address` (the exact address that the request goes to), or an explicit audience. */
type Audience = string

const DEFAULT_ORDER: readonly [Audience, Audience] = ['issuer', 'address']
/** How many endpoint addresses are remembered. A domain has four, and they may change while the server runs. */
const MAX_ADDRESSES = 16

/** The audiences that an IdP accepts in client assertions, by the address that they are sent to. */
export interface AssertionAudiences {
  /** Returns the audiences to try, in this order. There is only one if the configuration settles it. */
  toTry(address: string, issuer: string): readonly [first: string, second?: string]
  /** Remembers an accepted audience, which is tried first at this address from then on. */
  accept(address: string, issuer: string, audience: string): void
}

/**
 * Uses the issuer as the audience of an assertion, because all endpoints share it (RFC 7523, section 3; several
 * audiences were a vulnerability). Some IdPs accept only the address of the endpoint. An assertion never has both:
 * Keycloak refuses each such assertion.
 *
 * @param configured `client.assertion_audience`
 * @param onLearned called once if an address accepts another audience than the first one tried
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
