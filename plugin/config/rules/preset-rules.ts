import type { JsonObject } from '../json/json-object.ts'
import type { Finding } from '../problem.ts'
import type { MemberSchema } from './schema/member-schema.ts'

/** Base URLs of a vendor, by what is there. */
export type VendorUrls<Url extends string = string> = Readonly<Record<Url, string>>

/** What takes the place of vendors' own base URLs: name of the preset, then of the URL. */
export type UrlOverrides = Readonly<Record<string, Readonly<Record<string, string>>>>

/** What a preset means for a domain's configuration. Source: Custom object, preset rules. */
export interface PresetRules<Name extends string = string, Url extends string = string> {
  /**
   * Value of `custom.preset`, and part of the callback path `auth-oidc-<name>-callback`: lower-case letters and digits.
   */
  readonly name: Name
  /** The vendor's own base URLs. */
  readonly urls: VendorUrls<Url>
  /** Members that it brings into the Custom object, every one a text. */
  readonly members: Readonly<Record<string, MemberSchema>>
  /** True where the vendor's API tells groups although `groups.claim` is configured. */
  readonly ignoresClaim?: boolean
  /** The scope by which groups are asked for, where `groups.scope` is not configured. */
  readonly groupScope: string
  /** Whether the vendor issued this client id: then the preset applies by itself. */
  issued(clientId: string): boolean
  /** What is wrong with its members, beyond what their schemas say. */
  check(custom: JsonObject, withGroups: boolean): readonly Finding[]
  /** The issuer, out of base URLs and members with which nothing is wrong. */
  issuer(urls: VendorUrls<Url>, members: Readonly<Record<string, string>>): string
}

/** The base URLs of a preset with what takes their place. */
export function vendorUrls<Url extends string>(
  { name, urls }: Pick<PresetRules<string, Url>, 'name' | 'urls'>,
  overrides: UrlOverrides,
): VendorUrls<Url> {
  const others = overrides[name] ?? {}
  const entries = Object.entries<string>(urls).map(([what, url]) => [what, others[what] ?? url])
  return Object.fromEntries(entries) as VendorUrls<Url>
}
