import type { JsonObject } from '../json/json-object.ts'
import type { Finding } from '../problem.ts'
import type { MemberSchema } from './schema/member-schema.ts'

/** Base URLs of a vendor, by purpose. */
export type VendorUrls<Url extends string = string> = Readonly<Record<Url, string>>

/** Base URLs that replace the vendors' own, by the name of the preset and the purpose of the URL. */
export type UrlOverrides = Readonly<Record<string, Readonly<Record<string, string>>>>

/** A preset's part of a domain's configuration. Source: Custom object, preset rules. */
export interface PresetRules<Name extends string = string, Url extends string = string> {
  /**
   * Value of `custom.preset`, and part of the callback path `auth-oidc-<name>-callback`. Lower-case letters and digits
   * only.
   */
  readonly name: Name
  /** The vendor's own base URLs. */
  readonly urls: VendorUrls<Url>
  /** Members that the preset adds to the Custom object. Each is a text. */
  readonly members: Readonly<Record<string, MemberSchema>>
  /** True if the vendor's API reports groups even if `groups.claim` is configured. */
  readonly ignoresClaim?: boolean
  /** The scope that requests groups unless `groups.scope` is configured. */
  readonly groupScope: string
  /** Whether the vendor issued this client id, so that the preset applies by default. */
  issued(clientId: string): boolean
  /** Reports mistakes in the preset's members that their schemas do not find. */
  check(custom: JsonObject, withGroups: boolean): readonly Finding[]
  /** Returns the issuer for base URLs and valid members. */
  issuer(urls: VendorUrls<Url>, members: Readonly<Record<string, string>>): string
}

/** Returns the base URLs of a preset with overrides applied. */
export function vendorUrls<Url extends string>(
  { name, urls }: Pick<PresetRules<string, Url>, 'name' | 'urls'>,
  overrides: UrlOverrides,
): VendorUrls<Url> {
  const replaced = overrides[name] ?? {}
  const entries = Object.entries<string>(urls).map(([purpose, url]) => [purpose, replaced[purpose] ?? url])
  return Object.fromEntries(entries) as VendorUrls<Url>
}
