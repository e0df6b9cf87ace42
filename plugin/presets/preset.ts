import type { PresetRules, VendorUrls } from '../config/rules/preset-rules.ts'
import type { DomainSettings } from '../config/settings.ts'
import type { Memberships } from '../login/groups/memberships.ts'
import type { Claims } from '../login/profile.ts'
import type { VendorAccess } from './vendor-api.ts'

/** The information about the user that a login provides. */
export interface Evidence {
  /** The combined claims of ID token and UserInfo. */
  readonly claims: Claims
  /** True if a required UserInfo request got no answer, so that claims may be missing. Default false. */
  readonly isPartial?: boolean
  /**
   * The granted scopes. Null or undefined if the IdP does not name them, which means that it granted all requested
   * scopes.
   */
  readonly grantedScopes?: readonly string[] | null
  /** The access token, for the vendor's own API. A secret. Null if the flow issues no access token. */
  readonly accessToken: string | null
}

/**
 * The preset of one vendor: its configuration rules, and its behavior in a login. `Name` and `Url` are the names of the
 * preset and of its base URLs.
 */
export interface PresetDefinition<Name extends string = string, Url extends string = string>
  extends PresetRules<Name, Url> {
  open(urls: VendorUrls<Url>, access: VendorAccess): Preset
}

/** The parts of a login that differ between identity providers. */
export interface Preset {
  /** The provider's name on the login button. If it is null, the button shows the provider's host name. */
  readonly title: string | null
  /** Returns the scopes to request in addition to `custom.scope`. */
  scopes(settings: DomainSettings): readonly string[]
  /**
   * An additional scope, which is requested if the server stores tokens. The vendor issues no refresh token without
   * this scope.
   */
  readonly renewalScope?: string
  /** Returns the name of the claim that {@link memberships} reads. Returns null if groups are read from an API. */
  groupsClaim(settings: DomainSettings): string | null
  /** Returns the claims, with the vendor's substitutes for missing standard claims. */
  claims(claims: Claims): Claims
  /**
   * Returns the user's groups. Called only if groups are configured.
   *
   * @throws Error with the reason and no secret
   */
  memberships(evidence: Evidence, settings: DomainSettings): Promise<Memberships>
}
