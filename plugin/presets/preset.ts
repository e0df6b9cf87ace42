import type { PresetRules, VendorUrls } from '../config/rules/preset-rules.ts'
import type { DomainSettings } from '../config/settings.ts'
import type { Memberships } from '../login/groups/memberships.ts'
import type { Claims } from '../login/profile.ts'
import type { VendorAccess } from './vendor-api.ts'

/** What a login brought that tells of a person. */
export interface Evidence {
  /** ID token and UserInfo together. */
  readonly claims: Claims
  /** True if UserInfo was needed and gave no answer: a claim that is missing may exist. Default false. */
  readonly isPartial?: boolean
  /** Scopes that the IdP granted; null or absent: it does not say, so all that were asked for. */
  readonly grantedScopes?: readonly string[] | null
  /** For the vendor's own API; null when the flow brings none. A secret. */
  readonly accessToken: string | null
}

/**
 * Everything about one vendor, in the file of its name: what it means for the configuration, and how a login goes.
 * `Name` and `Url` are the texts that an administrator and a caller of `registerOidc` may write for it and its base
 * URLs.
 */
export interface PresetDefinition<Name extends string = string, Url extends string = string>
  extends PresetRules<Name, Url> {
  open(urls: VendorUrls<Url>, access: VendorAccess): Preset
}

/** What differs in a login from one kind of identity provider to the next. */
export interface Preset {
  /** Name on the button; null: the provider is named by its address. */
  readonly title: string | null
  /** Asked for beside `custom.scope`. */
  scopes(settings: DomainSettings): readonly string[]
  /** Asked for as well where the server keeps tokens: without it the vendor gives no refresh token. */
  readonly renewalScope?: string
  /** The claim that {@link memberships} reads; null when groups come from an API instead. */
  groupsClaim(settings: DomainSettings): string | null
  /** The claims with the vendor's stand-ins for standard ones that it leaves out. */
  claims(claims: Claims): Claims
  /**
   * The groups that the person is in. Asked only when groups are configured.
   *
   * @throws Error when they cannot be learned; its message says why and quotes no secret
   */
  memberships(evidence: Evidence, settings: DomainSettings): Promise<Memberships>
}
