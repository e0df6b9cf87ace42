import type { ClientSettings, CustomSettings, ManualMetadata, ServerRight } from './settings.ts'

/**
 * An `oidc` object that matches the schema. All names are canonical. Deprecated keys and unknown members have been
 * removed, and defaults have not been added.
 */
export interface OidcConfig {
  /** The issuer's address, or an object with its metadata. */
  readonly issuer?: string | IssuerConfig
  readonly client: ClientConfig
  readonly custom?: CustomConfig
  readonly groups?: GroupsConfig
  readonly logouturl?: string
  readonly newAccounts?: boolean
}

/** The `issuer` member in its object form. Each `…_supported` member is a string that contains a list. */
export type IssuerConfig = { readonly issuer?: string } & {
  readonly [Name in keyof ManualMetadata]: ManualMetadata[Name] extends readonly string[] | undefined
    ? string
    : ManualMetadata[Name]
}

/** The `client` member of an `oidc` object. */
export type ClientConfig = Pick<ClientSettings, 'client_id'> &
  Partial<Omit<ClientSettings, 'client_id' | 'client_secret' | 'post_logout_redirect_uri' | 'response_types'>> & {
    readonly client_secret?: string
    readonly post_logout_redirect_uri?: string | boolean
    readonly response_types?: string | readonly string[]
  }

/** The `custom` member of an `oidc` object, without the members that presets add to it. */
export interface CustomConfig {
  readonly scope?: string | readonly string[]
  readonly claims?: Partial<CustomSettings['claims']>
  readonly authorization_params?: Readonly<Record<string, string>>
  readonly required_acr?: string | readonly string[]
  readonly previous_issuers?: string | readonly string[]
  readonly preset?: string | null
  readonly buttonText?: string
  readonly buttonIconUrl?: string
  readonly buttonIconUrl2x?: string
  readonly authorities?: string | readonly string[]
}

/** The `groups` member of an `oidc` object. */
export interface GroupsConfig {
  readonly recursive?: boolean
  readonly required?: string | readonly string[]
  readonly siteadmin?: string | readonly string[]
  readonly revokeAdmin?: boolean
  readonly rights?: Readonly<Record<string, readonly ServerRight[]>>
  readonly sync?: boolean | { readonly filter: string | readonly string[] }
  /** The scope that requests groups. False or an empty string to request no such scope. */
  readonly scope?: string | false
  readonly claim?: string
}
