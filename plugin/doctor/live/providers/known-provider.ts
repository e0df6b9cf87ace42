import type { DomainSettings } from '../../../config/settings.ts'
import type { Issuer } from '../../../provider/issuer/discovery.ts'

/** The metadata of a provider. */
export type Metadata = Awaited<ReturnType<Issuer['metadata']>>

/** A mistake that administrators often make with one provider, and what to do about it. */
export interface Mistake {
  /** `fail` if logins fail because of it. */
  readonly verdict: 'warn' | 'fail'
  readonly text: string
}

/** What a provider's rules look at. */
export interface AskedProvider {
  /** The configured issuer. */
  readonly issuer: URL
  /** The discovered metadata, overlaid with the configured members. Undefined if discovery failed. */
  readonly metadata: Metadata | undefined
  readonly settings: DomainSettings
}

/** A provider that the live check knows, with the mistakes that are usual with it. */
export interface KnownProvider {
  readonly name: string
  /** Whether this is the provider, judged by its issuer, or by its metadata if the issuer may have any host name. */
  isAt(asked: Pick<AskedProvider, 'issuer' | 'metadata'>): boolean
  /** Also runs if discovery failed, because the issuer may be the mistake. */
  mistakes(asked: AskedProvider): readonly (Mistake | false)[]
}

export const warn = (text: string): Mistake => ({ verdict: 'warn', text })
export const fail = (text: string): Mistake => ({ verdict: 'fail', text })

/** The claim with the user's groups. Null if groups are not configured. */
export function groupsClaim({ groups }: Pick<DomainSettings, 'groups'>): string | null {
  return groups && (groups.claim ?? 'groups')
}

/** The configured scopes that are not in the list of scopes that the provider accepts. */
export function otherScopes(
  { custom }: Pick<DomainSettings, 'custom'>,
  accepted: readonly string[],
): readonly string[] {
  return custom.scope.filter((scope) => !accepted.includes(scope))
}

/** Returns a list in the metadata. Undefined if the provider publishes none, or something other than strings. */
export function publishedList(metadata: Metadata | undefined, name: keyof Metadata): readonly string[] | undefined {
  const list: unknown = metadata?.[name]
  return Array.isArray(list) && list.every((entry) => typeof entry === 'string') ? list : undefined
}

/** Returns an address in the metadata. Undefined if the provider publishes none, or something that is no address. */
export function publishedAddress(metadata: Metadata | undefined, name: keyof Metadata): URL | undefined {
  const address: unknown = metadata?.[name]
  return typeof address === 'string' && URL.canParse(address) ? new URL(address) : undefined
}
