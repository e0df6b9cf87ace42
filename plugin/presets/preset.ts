import type { PresetRules, VendorUrls } from '../config/rules/preset-rules.ts'
import type { DomainSettings } from '../config/settings.ts'
import type { Memberships } from '../login/groups/memberships.ts'
import type { Claims } from '../login/profile.ts'
import type { VendorAccess } from './vendor-api.ts'

/** Everything that a login says about the user. */
export interface Evidence {
  /** The claims of ID token and UserInfo together. */
  readonly claims: Claims
  /** True if UserInfo was needed but did not answer, so missing claims may exist. Default false. */
  readonly isPartial?: boolean
  /** Scopes that the IdP granted. Null or absent: it does not say, which means all requested scopes. */
  readonly grantedScopes?: readonly string[] | null
  /** For the vendor's own API. Null if the flow issues none. A secret. */
  readonly accessToken: string | null
}

/**
 * Everything about one vendor, in the file with its name: its part of the configuration, and the steps of a login.
 * `Name` and `Url` are the names of the preset and of its base URLs that administrators and callers of `registerOidc`
 * may write.
 */
export interface PresetDefinition<Name extends string = string, Url extends string = string>
  extends PresetRules<Name, Url> {
  open(urls: VendorUrls<Url>, access: VendorAccess): Preset
}

/** The parts of a login that differ between identity providers. */
export interface Preset {
  /** Text on the login button. Null: the button shows the address of the provider. */
  readonly title: string | null
  /** Scopes to request in addition to `custom.scope`. */
  scopes(settings: DomainSettings): readonly string[]
  /** Requested as well if the server stores tokens, because the vendor issues no refresh token without it. */
  readonly renewalScope?: string
  /** The claim that {@link memberships} reads. Null if groups come from an API instead. */
  groupsClaim(settings: DomainSettings): string | null
  /** Returns the claims, with the vendor's substitutes for standard claims that it omits. */
  claims(claims: Claims): Claims
  /**
   * Returns the groups that the user is in. Called only if groups are configured.
   *
   * @throws Error if they cannot be read; its message says why and quotes no secret
   */
  memberships(evidence: Evidence, settings: DomainSettings): Promise<Memberships>
}
