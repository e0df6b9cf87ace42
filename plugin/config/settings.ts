import type { ALIASED_ENDPOINTS, ISSUER_ENDPOINTS, ISSUER_FLAGS, ISSUER_LISTS } from './rules/issuer-members.ts'

/**
 * The finished configuration of one domain's strategy: deprecated keys moved, letter case settled, defaults filled in,
 * checked and frozen. Where the specification has a default, the member is never optional.
 */
export interface DomainSettings {
  /** Key under `domains` in the server's configuration; the default domain's is empty. */
  readonly key: string
  /**
   * Host name that selects this domain: `dns`, or for the default domain and below a path `settings.cert`. Lower case.
   */
  readonly hostName: string
  /**
   * Scheme, host and port (unless 443) under which browsers reach the domain, without a trailing slash and without its
   * path.
   */
  readonly origin: string
  readonly issuer: IssuerSettings
  readonly client: ClientSettings
  readonly credentials: Credentials
  readonly custom: CustomSettings
  /** Null: groups are not configured; nothing is asked for and nothing is changed. */
  readonly groups: GroupSettings | null
  /** Complete address that takes the place of the computed end-session address. */
  readonly logoutUrl: string | null
  /** Null: the host's own setting for the domain decides. */
  readonly newAccounts: boolean | null
}

/** Where the identity provider is, and what an administrator set by hand, which wins over what discovery finds. */
export interface IssuerSettings {
  readonly issuer: string
  readonly manual: ManualMetadata
}

/** Members of the Issuer object under the names of OpenID Connect Discovery 1.0; only those that were given. */
export type ManualMetadata = {
  readonly [Name in Exclude<(typeof ISSUER_ENDPOINTS)[number], 'userinfo_endpoint'>]?: string
} & {
  /** False: UserInfo is never asked. */
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

/** Client object. Member names are those of OpenID Connect Dynamic Client Registration 1.0. */
export interface ClientSettings {
  readonly client_id: string
  /** Null: no method and no algorithm needs one. */
  readonly client_secret: string | null
  /**
   * Absolute path of the file that `client_secret` was read from. Undefined: it stands in the configuration, or there
   * is none.
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
  /** The first response type is the one that is used. */
  readonly response_types: readonly [ResponseType, ...ResponseType[]]
  /**
   * Undefined: none is asked for with a code, and `form_post` where an ID token comes with the browser, if the IdP has
   * that.
   */
  readonly response_mode?: ResponseMode
  /** Of answers in a response mode with `jwt`. */
  readonly authorization_signed_response_alg: string
  readonly authorization_encrypted_response_alg?: string
  readonly authorization_encrypted_response_enc?: string
  /** Seconds. */
  readonly default_max_age?: number
  readonly require_auth_time: boolean
  readonly request_object_signing_alg?: string
  /** Requests are signed though the IdP's metadata do not demand it: the client is registered so. */
  readonly require_signed_request_object: boolean
  /** Requests are pushed though the IdP's metadata do not demand it: the client is registered so. */
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
  /** Access tokens are bound to a key of this process (RFC 9449). */
  readonly dpop_bound_access_tokens: boolean
  /**
   * Audience of client assertions: `issuer`, `address` (of the endpoint), or itself. Undefined: found out and
   * remembered.
   */
  readonly assertion_audience?: string
}

/** Private keys and certificate of this server as a client: they stand in files, not in the Client object. */
export interface Credentials {
  /** In the order of the file: where several fit, the first one signs. Empty: there are none. */
  readonly keys: readonly ClientKey[]
  /** Null: no certificate is shown to the identity provider. */
  readonly certificate: ClientCertificate | null
}

export interface ClientKey {
  /** Null where the file has this one key only. */
  readonly kid: string | null
  /**
   * Signature algorithms (JWS `alg`) that it may be used with, the preferred one first; none for a key that is for
   * encryption.
   */
  readonly signs: readonly string[]
  /** Key management algorithms (JWE `alg`) that it may be used with; none for a key that is for signatures. */
  readonly decrypts: readonly string[]
  /**
   * Certificate thumbprints of the key (RFC 7515, sections 4.1.7 and 4.1.8): some vendors find a key by nothing else.
   */
  readonly thumbprints: { readonly x5t?: string; readonly 'x5t#S256'?: string }
  /** A secret: never in a log, never in an answer. Nothing but the key's own members. */
  readonly privateJwk: PrivateJwk
  /** What may be shown to anybody, with `kid`, `use` and `alg` where the file has them. */
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
  /** PEM, the client's own certificate first, then those that lead to its authority. */
  readonly cert: string
  /** PEM. A secret. */
  readonly key: string
  /** `x5t#S256` of RFC 8705: SHA-256 of the certificate, base64url. */
  readonly thumbprint: string
}

/** Custom object. */
export interface CustomSettings {
  /**
   * `openid` comes first, no value is there twice. Includes the group scope when groups are configured, but with a
   * preset: a preset may find groups without it, and adds it itself.
   */
  readonly scope: readonly string[]
  readonly claims: { readonly uuid: string; readonly name: string; readonly email: string }
  /** Added to every authorization request: what neither the protocol nor this plugin sets. */
  readonly authorizationParams: Readonly<Record<string, string>>
  /** Authentication contexts (`acr`) that a login may have, in the order of preference; empty: any. */
  readonly requiredAcr: readonly string[]
  /**
   * Issuers of the same people under other addresses: accounts and sessions from there count like those of `issuer`.
   */
  readonly previousIssuers: readonly string[]
  /** The whole text of the login button, in place of the provider's name. One line, at most 128 characters. */
  readonly buttonText?: string
  /** Its icon: an address, or a path of the server. */
  readonly buttonIconUrl?: string
  /** The same for screens with small pixels. */
  readonly buttonIconUrl2x?: string
  /** Of the directory: the person's groups, the roles that the application gives them, or both. */
  readonly authorities: readonly string[]
  /** Name of the preset that applies; null: none. */
  readonly preset: string | null
  /** The members that the preset brings into the Custom object, by their names there; only those that were given. */
  readonly presetMembers: Readonly<Record<string, string>>
}

/**
 * Rights on the server that a group may give, by MeshCentral's names: those of `newAccountsRights`, but for
 * `fulladmin`, which is what `groups.siteadmin` gives, and `locked`, which a login could not take back.
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
  /** Null: site admin rights are not managed by groups. */
  readonly siteadmin: readonly string[] | null
  readonly revokeAdmin: boolean
  /**
   * What groups give beside that; letter case does not count in these names. Null: such rights are not managed by
   * groups.
   */
  readonly rights: readonly GroupRights[] | null
  /** False: no mirroring; `all`: every group; else the names to mirror. */
  readonly sync: false | 'all' | readonly string[]
  /** Asks the IdP for groups: as configured, else the preset's own, else `groups`. Null: none is asked for. */
  readonly scope: string | null
  /** Null: not configured, so that a preset may take its own source. The standard provider reads `groups` then. */
  readonly claim: string | null
}
