/** `issuer`, `address` (the very one that the request is sent to), or an audience itself. */
type Audience = string

const NOTHING_SETTLED: readonly [Audience, Audience] = ['issuer', 'address']
/** Endpoints of one domain; there are four, and their addresses may change while a server runs. */
const MOST_ADDRESSES = 16

/** Which audience an IdP takes in client assertions, by the address that they are sent to. */
export interface AssertionAudiences {
  /** Audiences to try, one after the other. There is one alone where the configuration settles it. */
  toTry(address: string, issuer: string): readonly [audience: string, other?: string]
  /** What was accepted at an address; it is tried first from then on. */
  accept(address: string, issuer: string, audience: string): void
}

/**
 * The audience of an assertion is the issuer, on which all endpoints agree (RFC 7523, section 3, and the vulnerability
 * that several audiences were). Some IdPs know no other than the address of the endpoint. Never both at once: Keycloak
 * refuses each such assertion.
 *
 * @param configured `client.assertion_audience`
 * @param onLearned told once when an address takes another audience than was tried first
 */
export function createAssertionAudiences(
  configured: Audience | undefined,
  onLearned: (address: string, audience: 'issuer' | 'address') => void,
): AssertionAudiences {
  const learned = new Map<string, readonly [Audience, Audience]>()
  const orderAt = (address: string) => learned.get(address) ?? NOTHING_SETTLED
  const written = (audience: Audience, address: string, issuer: string) =>
    audience === 'issuer' ? issuer : audience === 'address' ? address : audience
  return {
    toTry(address, issuer) {
      if (configured !== undefined) return [written(configured, address, issuer)]
      const [first, other] = orderAt(address)
      return [written(first, address, issuer), written(other, address, issuer)]
    },
    accept(address, issuer, audience) {
      const [first] = orderAt(address)
      if (configured !== undefined || written(first, address, issuer) === audience) return
      const found = audience === issuer ? 'issuer' : 'address'
      if (learned.size >= MOST_ADDRESSES) learned.clear()
      learned.set(address, found === 'issuer' ? ['issuer', 'address'] : ['address', 'issuer'])
      onLearned(address, found)
    },
  }
}
