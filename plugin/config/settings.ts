import type { ALIASED_ENDPOINTS, ISSUER_ENDPOINTS, ISSUER_FLAGS, ISSUER_LISTS } from './rules/issuer-members.ts'

/** The configuration of one domain's strategy: checked, frozen, with defaults and without deprecated keys. */
export interface DomainSettings {
  /** The domain's key under `domains` in the configuration. The key of the default domain is empty. */
  readonly key: string
  /**
   * The host name that selects this domain, in lower case. It is `dns`, or `settings.cert` for the default domain and
   * for domains below a path.
   */
  readonly hostName: string
  /**
   * The origin at which browsers reach the domain: scheme, host and port (unless 443), without a trailing slash or
   * path.
   */
  readonly origin: string
  readonly issuer: IssuerSettings
  readonly client: ClientSettings
  readonly credentials: Credentials
  readonly custom: CustomSettings
  /** Null if groups are not configured. Then no groups are requested, and group memberships stay unchanged. */
  readonly groups: GroupSettings | null
  /** A complete logout address, which replaces the address built from the IdP's end-session endpoint. */
  readonly logoutUrl: string | null
  /** Whether users of the IdP get new accounts. Null if the host's own setting for the domain applies. */
  readonly newAccounts: boolean | null
}

/** The identity provider's issuer, and the configured metadata. Configured metadata replaces discovered metadata. */
export interface IssuerSettings {
  readonly issuer: string
  readonly manual: ManualMetadata
}

/** The configured members of the Issuer object. The names are those of OpenID Connect Discovery 1.0. */
export type ManualMetadata = {
  readonly [Name in Exclude<(typeof ISSUER_ENDPOINTS)[number], 'userinfo_endpoint'>]?: string
} & {
  /** The address of the UserInfo endpoint, or false if the plugin must never request UserInfo. */
  readonly userinfo_endpoint?: string | false
} & { readonly [Name in (typeof ISSUER_LISTS)[number]]?: readonly string[] } & {
  readonly [Name in (typeof ISSUER_FLAGS)[number]]?: boolean
} & {
  readonly mtls_endpoint_aliases?: Readonly<Partial<Record<(typeof ALIASED_ENDPOINTS)[number], string>>>
}

export const AUTH_METHODS = [
  'none',
  'client_secret_basic',
  'client_secret_post',
  'client_secret_jwt',
  'private_key_jwt',
  'tls_client_auth',
  'self_signed_tls_client_auth',
] as const
export type AuthMethod = (typeof AUTH_METHODS)[number]

export const RESPONSE_TYPES = ['code', 'id_token', 'code id_token'] as const
export type ResponseType = (typeof RESPONSE_TYPES)[number]

/**
 * How an IdP delivers its answer. Source: OAuth 2.0 Multiple Response Types, section 2.1; Form Post Response Mode;
 * JARM, section 2.3.
 */
export const RESPONSE_MODES = [
  'query',
  'form_post',
  'fragment',
  'jwt',
  'query.jwt',
  'form_post.jwt',
  'fragment.jwt',
] as const
export type ResponseMode = (typeof RESPONSE_MODES)[number]

/** The Client object. The names are those of OpenID Connect Dynamic Client Registration 1.0. */
export interface ClientSettings {
  readonly client_id: string
  /** Null if no authentication method and no algorithm needs a client secret. */
  readonly client_secret: string | null
  /**
   * Absolute path of the file that contains `client_secret`. Undefined if the configuration contains the secret itself,
   * or if there is no secret.
   */
  readonly client_secret_file?: string
  readonly redirect_uri: string
  /** Null if no post-logout redirect address is sent. */
  readonly post_logout_redirect_uri: string | null
  readonly id_token_signed_response_alg: string
  readonly id_token_encrypted_response_alg?: string
  readonly id_token_encrypted_response_enc?: string
  readonly userinfo_signed_response_alg?: string
  readonly userinfo_encrypted_response_alg?: string
  readonly userinfo_encrypted_response_enc?: string
  /** The configured response types. Logins use the first one in the list. */
  readonly response_types: readonly [ResponseType, ...ResponseType[]]
  /**
   * How the IdP delivers its answer. If undefined, the IdP chooses for codes. For ID tokens, it is then `form_post`, or
   * the fragment if the IdP does not support forms.
   */
  readonly response_mode?: ResponseMode
  /** Algorithm of signed answers, for response modes with `jwt` in their name. */
  readonly authorization_signed_response_alg: string
  readonly authorization_encrypted_response_alg?: string
  readonly authorization_encrypted_response_enc?: string
  /** Limit of the age of the user's authentication at the IdP, in seconds. */
  readonly default_max_age?: number
  readonly require_auth_time: boolean
  readonly request_object_signing_alg?: string
  /**
   * True if this client is registered to sign its requests. Requests are then signed even if the IdP's metadata does
   * not require that.
   */
  readonly require_signed_request_object: boolean
  /**
   * True if this client is registered to push its requests. Requests are then pushed even if the IdP's metadata does
   * not require that.
   */
  readonly require_pushed_authorization_requests: boolean
  readonly request_object_encryption_alg?: string
  readonly request_object_encryption_enc?: string
  readonly token_endpoint_auth_method: AuthMethod
  readonly introspection_endpoint_auth_method: AuthMethod
  readonly revocation_endpoint_auth_method: AuthMethod
  readonly token_endpoint_auth_signing_alg?: string
  readonly introspection_endpoint_auth_signing_alg?: string
  readonly revocation_endpoint_auth_signing_alg?: string
  readonly tls_client_certificate_bound_access_tokens: boolean
  /** Whether access tokens are bound to a key of this process, by DPoP (RFC 9449). */
  readonly dpop_bound_access_tokens: boolean
  /**
   * Audience of client assertions: `issuer`, `address` (of the endpoint), or another one. If undefined, the plugin
   * finds an accepted one.
   */
  readonly assertion_audience?: string
}

/**
 * The private keys of this server and its client certificate. They come from files; the file names are outside the
 * `oidc` object.
 */
export interface Credentials {
  /** The keys in the order of the file. The first suitable key signs. */
  readonly keys: readonly ClientKey[]
  /** Null if this server presents no certificate to the identity provider. */
  readonly certificate: ClientCertificate | null
}

export interface ClientKey {
  /** The id of the key (`kid`). Null if the file contains only this key, without an id. */
  readonly kid: string | null
  /**
   * Signature algorithms (JWS `alg`) that the key may be used with, the preferred one first. Empty for an encryption
   * key.
   */
  readonly signs: readonly string[]
  /** Key management algorithms (JWE `alg`) that the key may be used with. Empty for a signature key. */
  readonly decrypts: readonly string[]
  /**
   * Thumbprints of the key's certificate (RFC 7515, sections 4.1.7 and 4.1.8). Some vendors find a key only by a
   * thumbprint.
   */
  readonly thumbprints: { readonly x5t?: string; readonly 'x5t#S256'?: string }
  /** The private key, without other members of the file. It must never be logged or sent. */
  readonly privateJwk: PrivateJwk
  /** The public part of the key, with the `kid`, `use` and `alg` from the key file. */
  readonly publicJwk: PublicJwk
}

/** A public JSON Web Key (RFC 7517). */
export interface PublicJwk {
  readonly kty: string
  readonly crv?: string
  readonly x?: string
  readonly y?: string
  readonly n?: string
  readonly e?: string
  readonly kid?: string
  readonly use?: string
  readonly alg?: string
}
export interface PrivateJwk extends PublicJwk {
  readonly d: string
  readonly p?: string
  readonly q?: string
  readonly dp?: string
  readonly dq?: string
  readonly qi?: string
}

export interface ClientCertificate {
  /** The client's certificate in PEM format, followed by the intermediate certificates of its chain. */
  readonly cert: string
  /** The private key in PEM format. A secret. */
  readonly key: string
  /** The `x5t#S256` of RFC 8705: the SHA-256 hash of the certificate, in base64url. */
  readonly thumbprint: string
}

/** The Custom object. */
export interface CustomSettings {
  /**
   * The requested scopes, `openid` first, without duplicates. Includes the group scope, unless a preset decides whether
   * it is needed.
   */
  readonly scope: readonly string[]
  readonly claims: { readonly uuid: string; readonly name: string; readonly email: string }
  /** Additional parameters of every authorization request. None of them is set by the protocol or by this plugin. */
  readonly authorizationParams: Readonly<Record<string, string>>
  /**
   * Accepted authentication contexts (`acr`), the preferred one first. If the list is empty, every context is accepted.
   */
  readonly requiredAcr: readonly string[]
  /**
   * Former addresses of the same issuer. Accounts and sessions that name one of these addresses are treated like those
   * of `issuer`.
   */
  readonly previousIssuers: readonly string[]
  /**
   * The text of the login button: one line of at most 128 characters. It replaces the default text with the provider's
   * name.
   */
  readonly buttonText?: string
  /** The icon of the login button: an address, or a path on this server. */
  readonly buttonIconUrl?: string
  /** The icon of the login button for high-resolution screens. */
  readonly buttonIconUrl2x?: string
  /**
   * Which memberships count as groups: the user's groups in the directory, the user's roles in the application, or
   * both.
   */
  readonly authorities: readonly string[]
  /** Name of the chosen preset, or null if no preset applies. */
  readonly preset: string | null
  /** The configured values of the members that the preset adds to the Custom object, by name. */
  readonly presetMembers: Readonly<Record<string, string>>
}

/**
 * The server rights that a group can give: those of MeshCentral's `newAccountsRights`, without two. `groups.siteadmin`
 * gives `fulladmin`, and a login could not revoke `locked`.
 */
export const SERVER_RIGHTS = [
  'serverbackup',
  'manageusers',
  'serverrestore',
  'fileaccess',
  'serverupdate',
  'nonewgroups',
  'notools',
  'usergroups',
  'recordings',
  'locksettings',
  'allevents',
  'nonewdevices',
] as const
export type ServerRight = (typeof SERVER_RIGHTS)[number]

export interface GroupRights {
  readonly group: string
  readonly rights: readonly ServerRight[]
}

/** The Groups object. Group names match exactly, unless noted otherwise. */
export interface GroupSettings {
  readonly recursive: boolean
  /** A user must be in at least one of these groups. Null if no group is required. */
  readonly required: readonly string[] | null
  /** The members of these groups are site administrators. Null if groups do not manage site admin rights. */
  readonly siteadmin: readonly string[] | null
  readonly revokeAdmin: boolean
  /**
   * The rights that each group gives, other than site admin. Here, group names match in any letter case. Null: not
   * managed by groups.
   */
  readonly rights: readonly GroupRights[] | null
  /** The names of the groups to mirror, `all` for every group, or false for none. */
  readonly sync: false | 'all' | readonly string[]
  /**
   * The scope that requests groups: the configured scope, or else the preset's, or else `groups`. Null if no scope is
   * requested.
   */
  readonly scope: string | null
  /**
   * The configured claim that contains groups. If it is null, a preset uses its own source. Without a preset, the claim
   * `groups` is read.
   */
  readonly claim: string | null
}
