import type { DomainSettings } from '../../../config/settings.ts'
import type { Issuer } from '../../../provider/issuer/discovery.ts'

/** The metadata of a provider. */
export type Metadata = Awaited<ReturnType<Issuer['metadata']>>

/** A mistake that administrators often make with one provider, and what to do about it. */
export interface Mistake {
  /** `fail` if the mistake makes logins fail, otherwise `warn`. */
  readonly verdict: 'warn' | 'fail'
  readonly text: string
}

/** The configuration and the metadata that a provider's rules check. */
export interface AskedProvider {
  /** The configured issuer. */
  readonly issuer: URL
  /** The discovered metadata, in which configured members replace discovered ones. Undefined if discovery failed. */
  readonly metadata: Metadata | undefined
  readonly settings: DomainSettings
}

/** A provider that the live check knows, with its usual mistakes. */
export interface KnownProvider {
  readonly name: string
  /**
   * Whether an issuer belongs to this provider. Also uses the metadata if the issuer's address alone does not reveal
   * the provider.
   */
  isAt(configuration: Pick<AskedProvider, 'issuer' | 'metadata'>): boolean
  /**
   * Returns the mistakes in the configuration. The live check also calls this method if discovery failed, because a
   * wrong issuer may be the cause.
   */
  mistakes(configuration: AskedProvider): readonly (Mistake | false)[]
}

export const warn = (text: string): Mistake => ({ verdict: 'warn', text })
export const fail = (text: string): Mistake => ({ verdict: 'fail', text })

/** Returns the name of the claim that contains the user's groups. Returns null if groups are not configured. */
export function groupsClaim({ groups }: Pick<DomainSettings, 'groups'>): string | null {
  return groups && (groups.claim ?? 'groups')
}

/** Returns the configured scopes that the provider does not accept. */
export function otherScopes(
  { custom }: Pick<DomainSettings, 'custom'>,
  accepted: readonly string[],
): readonly string[] {
  return custom.scope.filter((scope) => !accepted.includes(scope))
}

/**
 * Returns a list from the provider's metadata. Returns undefined if the list is missing, or is not a list of strings.
 */
export function publishedList(metadata: Metadata | undefined, name: keyof Metadata): readonly string[] | undefined {
  const list: unknown = metadata?.[name]
  return Array.isArray(list) && list.every((entry) => typeof entry === 'string') ? list : undefined
}

/** Returns an address from the provider's metadata. Returns undefined if the address is missing or invalid. */
export function publishedAddress(metadata: Metadata | undefined, name: keyof Metadata): URL | undefined {
  const address: unknown = metadata?.[name]
  return typeof address === 'string' && URL.canParse(address) ? new URL(address) : undefined
}
