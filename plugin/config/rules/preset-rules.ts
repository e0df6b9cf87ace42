import type { JsonObject } from '../json/json-object.ts'
import type { Finding } from '../problem.ts'
import type { MemberSchema } from './schema/member-schema.ts'

/** A vendor's base URLs, by the name of the service, such as `issuer`. */
export type VendorUrls<Url extends string = string> = Readonly<Record<Url, string>>

/**
 * Base URLs that replace the vendors' own. The outer key is the name of the preset. The inner key is the name of the
 * service.
 */
export type UrlOverrides = Readonly<Record<string, Readonly<Record<string, string>>>>

/** The rules that a preset adds to the configuration of a domain. Source: Custom object, preset rules. */
export interface PresetRules<Name extends string = string, Url extends string = string> {
  /**
   * The value of `custom.preset`, and part of the callback path `auth-oidc-<name>-callback`. Contains only lower-case
   * letters and digits.
   */
  readonly name: Name
  /** The vendor's default base URLs. */
  readonly urls: VendorUrls<Url>
  /** Members that the preset adds to the Custom object. Each member is a string. */
  readonly members: Readonly<Record<string, MemberSchema>>
  /** True if the preset reads groups from the vendor's API even if `groups.claim` is configured. */
  readonly ignoresClaim?: boolean
  /** The default of `groups.scope`. */
  readonly groupScope: string
  /** Whether this vendor issued the client id. If so, the preset applies by default. */
  issued(clientId: string): boolean
  /** Reports mistakes in the preset's members that the schemas cannot detect. */
  check(custom: JsonObject, withGroups: boolean): readonly Finding[]
  /** Returns the issuer for the given base URLs and values of the preset's members. The values must be valid. */
  issuer(urls: VendorUrls<Url>, members: Readonly<Record<string, string>>): string
}

/** Returns a preset's base URLs, with the overrides applied. */
export function vendorUrls<Url extends string>(
  { name, urls }: Pick<PresetRules<string, Url>, 'name' | 'urls'>,
  overrides: UrlOverrides,
): VendorUrls<Url> {
  const replaced = overrides[name] ?? {}
  const entries = Object.entries<string>(urls).map(([purpose, url]) => [purpose, replaced[purpose] ?? url])
  return Object.fromEntries(entries) as VendorUrls<Url>
}
