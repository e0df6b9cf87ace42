/** A mistake in a server's configuration. The message quotes no value, because it may be a secret. */
export interface Problem {
  /**
   * The path of the mistake, such as `domains[""].authStrategies.oidc.client.client_id`. `$` is the whole
   * configuration.
   */
  readonly path: string
  /** The fault, such as `must be a string`. It continues a sentence that begins with the path. */
  readonly reason: string
  /** Advice, in complete sentences. */
  readonly remedy: string
}

export const WARNING_CODES = [
  'deprecated_key', // the key is deprecated; the remedy contains its new path
  'deprecated_value',
  'unknown_key',
  'issuer_ignored', // the configured issuer has no effect, because the preset supplies an issuer
  'issuer_kept', // the issuer is used although other members imply a preset
  'unknown_algorithm',
  'certificate_expired',
  'changing_id', // the IdP may later give the user's id to another user
  'other_id', // MeshCentral's built-in strategy may have stored accounts under another id
  'no_effect', // because of other members, the setting has no effect
  'nobody_admitted',
  'other_host', // logins begin at another host name than the domain's
  'placeholder', // the value was copied from an example
  'not_boolean', // MeshCentral reads this `newAccounts` as false
  'text_ignored', // MeshCentral ignores this port, because it is written as a string
  'host_name_missing', // without `settings.cert`, the host name is taken from the redirect address
  'misplaced', // the setting is in a place where MeshCentral does not read it
  'plugin_not_listed', // MeshCentral loads the plugin only if it was installed on the plugin page
  'not_recorded', // without `settings.authLog`, logins are not recorded
  'session_key_missing',
  'no_way_for_admins', // without passwords, there may be no administrator who can sign in
] as const
export type WarningCode = (typeof WARNING_CODES)[number]

/** A probable mistake that does not prevent logins. */
export interface Warning extends Problem {
  readonly code: WarningCode
}

/** A path in an object: member names and array indexes. */
export type Steps = readonly (string | number)[]

/** A finding of a rule about an `oidc` object. It is a warning if `warning` is set, otherwise a problem. */
export interface Finding {
  /** The path of the member that the finding is about, relative to the `oidc` object. */
  readonly steps: Steps
  readonly reason: string
  readonly remedy: string
  readonly warning?: WarningCode
}
