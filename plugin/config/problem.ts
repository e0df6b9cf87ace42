/** One mistake in a server's configuration. Quotes no value, which may be a secret. */
export interface Problem {
  /** The place, such as `domains[""].authStrategies.oidc.client.client_id`. `$` is the configuration as a whole. */
  readonly path: string
  /** The mistake. Continues a sentence that begins with the path, such as `must be a text`. */
  readonly reason: string
  /** The remedy, in whole sentences. */
  readonly remedy: string
}

export const WARNING_CODES = [
  'deprecated_key', // the remedy names the new place
  'deprecated_value',
  'unknown_key',
  'issuer_ignored', // the preset's issuer is used
  'issuer_kept', // used although other members imply a preset
  'unknown_algorithm',
  'certificate_expired',
  'changing_id', // the id of a user may later belong to another user
  'other_id', // MeshCentral's built-in strategy may have used another id
  'no_effect', // because of other members
  'nobody_admitted',
  'other_host', // logins begin at another host name
  'placeholder', // left over from an example
  'not_boolean', // a `newAccounts` that MeshCentral counts as false
  'text_ignored', // a port that MeshCentral ignores
  'host_name_missing', // without `settings.cert`, it comes from the redirect address
  'misplaced', // in a place that is not read
  'plugin_not_listed', // MeshCentral loads it only if it was installed on its plugin page
  'not_recorded', // without `settings.authLog`
  'session_key_missing',
  'no_way_for_admins', // without passwords, possibly nobody can administer the server
] as const
export type WarningCode = (typeof WARNING_CODES)[number]

/** Something that works or has no effect, but is probably a mistake. Same rules as for a problem. */
export interface Warning extends Problem {
  readonly code: WarningCode
}

/** Steps into an object: member names and array indexes. */
export type Steps = readonly (string | number)[]

/** The finding of a rule about an `oidc` object: a problem, or with `warning` a warning with that code. */
export interface Finding {
  /** The place below the `oidc` object. */
  readonly steps: Steps
  readonly reason: string
  readonly remedy: string
  readonly warning?: WarningCode
}
