import type { ALIASED_ENDPOINTS, ISSUER_ENDPOINTS, ISSUER_FLAGS, ISSUER_LISTS } from './rules/issuer-members.ts'

/**
 * The finished configuration of one domain's strategy: with current keys, canonical letter case and defaults, checked
 * and frozen. A member with a default in the specification is never optional.
 */
export interface DomainSettings {
  /** Key under `domains` in the server's configuration. The default domain has the empty key. */
  readonly key: string
  /**
   * Host name that selects this domain: `dns`, or `settings.cert` for the default domain and for domains below a path.
   * In lower case.
   */
  readonly hostName: string
  /**
   * Scheme, host and port (unless 443) at which browsers reach the domain, without a trailing slash and without its
   * path.
   */
  readonly origin: string
  readonly issuer: IssuerSettings
  readonly client: ClientSettings
  readonly credentials: Credentials
  readonly custom: CustomSettings
  /** Null: groups are not configured, so none are requested and nothing changes. */
  readonly groups: GroupSettings | null
  /** Complete address that replaces the computed end-session address. */
  readonly logoutUrl: string | null
  /** Null: the host's own setting for the domain decides. */
  readonly newAccounts: boolean | null
}

/** The identity provider's issuer, and the metadata that the administrator configured, which wins over discovery. */
export interface IssuerSettings {
  readonly issuer: string
  readonly manual: ManualMetadata
}

/** The configured members of the Issuer object, with the names of OpenID Connect Discovery 1.0. */
export type ManualMetadata = {
  readonly [Name in Exclude<(typeof ISSUER_ENDPOINTS)[number], 'userinfo_endpoint'>]?: string
} & {
  /** False: UserInfo is never requested. */
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
 * How an IdP sends its answer. Source: OAuth 2.0 Multiple Response Types, section 2.1; Form Post Response Mode; JARM,
 * section 2.3.
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

/** Client object, with the member names of OpenID Connect Dynamic Client Registration 1.0. */
export interface ClientSettings {
  readonly client_id: string
  /** Null: no method and no algorithm needs a secret. */
  readonly client_secret: string | null
  /**
   * Absolute path of the file that `client_secret` was read from. Undefined: the configuration contains the secret
   * itself, or there is none.
   */
  readonly client_secret_file?: string
  readonly redirect_uri: string
  /** Null: no post-logout redirect address is sent. */
  readonly post_logout_redirect_uri: string | null
  readonly id_token_signed_response_alg: string
  readonly id_token_encrypted_response_alg?: string
  readonly id_token_encrypted_response_enc?: string
  readonly userinfo_signed_response_alg?: string
  readonly userinfo_encrypted_response_alg?: string
  readonly userinfo_encrypted_response_enc?: string
  /** The first response type is used. */
  readonly response_types: readonly [ResponseType, ...ResponseType[]]
  /**
   * Undefined: none is requested with a code. If an ID token comes with the browser, it is `form_post` if the IdP
   * supports that.
   */
  readonly response_mode?: ResponseMode
  /** Applies to answers in a response mode with `jwt`. */
  readonly authorization_signed_response_alg: string
  readonly authorization_encrypted_response_alg?: string
  readonly authorization_encrypted_response_enc?: string
  /** Seconds. */
  readonly default_max_age?: number
  readonly require_auth_time: boolean
  readonly request_object_signing_alg?: string
  /** Requests are signed even if the IdP's metadata does not require it, because this client is registered that way. */
  readonly require_signed_request_object: boolean
  /** Requests are pushed even if the IdP's metadata does not require it, because this client is registered that way. */
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
  /** Whether access tokens are bound to a key of this process (RFC 9449). */
  readonly dpop_bound_access_tokens: boolean
  /**
   * Audience of client assertions: `issuer`, `address` (of the endpoint), or an explicit audience. Undefined: the
   * plugin finds it out and remembers it.
   */
  readonly assertion_audience?: string
}

/** Private keys and certificate of this server as a client. They are in files, not in the Client object. */
export interface Credentials {
  /** Keys in the order of the file. The first suitable key signs. */
  readonly keys: readonly ClientKey[]
  /** Null: this server shows no certificate to the identity provider. */
  readonly certificate: ClientCertificate | null
}

export interface ClientKey {
  /** Null if the file has only this key. */
  readonly kid: string | null
  /**
   * Signature algorithms (JWS `alg`) that the key may be used with, the preferred one first. Empty for a key for
   * encryption.
   */
  readonly signs: readonly string[]
  /** Key management algorithms (JWE `alg`) that the key may be used with. Empty for a key for signatures. */
  readonly decrypts: readonly string[]
  /**
   * Certificate thumbprints of the key (RFC 7515, sections 4.1.7 and 4.1.8), because some vendors find a key only by
   * them.
   */
  readonly thumbprints: { readonly x5t?: string; readonly 'x5t#S256'?: string }
  /** A secret: never in a log, never in an answer. Contains only the key's own members. */
  readonly privateJwk: PrivateJwk
  /** The public part, with `kid`, `use` and `alg` if the file has them. */
  readonly publicJwk: PublicJwk
}

/** JSON Web Key, RFC 7517. */
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
  /** PEM: the client's certificate first, then the certificates that lead to its authority. */
  readonly cert: string
  /** PEM. A secret. */
  readonly key: string
  /** `x5t#S256` of RFC 8705: SHA-256 of the certificate, base64url. */
  readonly thumbprint: string
}

/** Custom object. */
export interface CustomSettings {
  /**
   * The requested scopes, `openid` first, none twice. Includes the group scope if groups are configured without a
   * preset. A preset adds its own, because it may read groups without one.
   */
  readonly scope: readonly string[]
  readonly claims: { readonly uuid: string; readonly name: string; readonly email: string }
  /** Parameters that are added to every authorization request. The protocol and this plugin set none of them. */
  readonly authorizationParams: Readonly<Record<string, string>>
  /** Accepted authentication contexts (`acr`), the preferred one first. Empty: all are accepted. */
  readonly requiredAcr: readonly string[]
  /** Former addresses of the same issuer. Accounts and sessions from there count like those of `issuer`. */
  readonly previousIssuers: readonly string[]
  /** The whole text of the login button, which replaces the provider's name. One line, at most 128 characters. */
  readonly buttonText?: string
  /** The icon of the login button: an address, or a path of this server. */
  readonly buttonIconUrl?: string
  /** The icon for high-resolution screens. */
  readonly buttonIconUrl2x?: string
  /** The memberships that count: the user's groups in the directory, the roles from the application, or both. */
  readonly authorities: readonly string[]
  /** Name of the preset that applies. Null: none. */
  readonly preset: string | null
  /** The configured members that the preset adds to the Custom object, by name. */
  readonly presetMembers: Readonly<Record<string, string>>
}

/**
 * Rights on the server that a group may give, with MeshCentral's names. These are the names of `newAccountsRights`,
 * with two exceptions: `groups.siteadmin` gives `fulladmin`, and a login could not revoke `locked`.
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

/** Groups object. Names match exactly. */
export interface GroupSettings {
  readonly recursive: boolean
  /** Null: no group is required. */
  readonly required: readonly string[] | null
  /** Null: groups do not manage site admin rights. */
  readonly siteadmin: readonly string[] | null
  readonly revokeAdmin: boolean
  /**
   * Other rights that groups give. Letter case does not matter in these group names. Null: groups do not manage such
   * rights.
   */
  readonly rights: readonly GroupRights[] | null
  /** False: no mirroring. `all`: every group. Otherwise the names of the groups to mirror. */
  readonly sync: false | 'all' | readonly string[]
  /**
   * The scope that requests groups: as configured, otherwise the preset's own, otherwise `groups`. Null: none is
   * requested.
   */
  readonly scope: string | null
  /** Null: not configured, so a preset may use its own source. The standard provider then reads `groups`. */
  readonly claim: string | null
}
