/** One mistake in a server's configuration. Never quotes a value: it may be a secret. */
export interface Problem {
  /** Where: `domains[""].authStrategies.oidc.client.client_id`; `$` is the configuration as a whole. */
  readonly path: string
  /** What is wrong, to be read after the path: `must be a text`. */
  readonly reason: string
  /** What to do about it, whole sentences. */
  readonly remedy: string
}

export const WARNING_CODES = [
  'deprecated_key', // the remedy names the new place
  'deprecated_value',
  'unknown_key',
  'issuer_ignored', // a preset brings its own
  'issuer_kept', // beside a preset that nobody chose by its name
  'unknown_algorithm',
  'certificate_expired',
  'changing_id', // what identifies people can become somebody else's
  'other_id', // than the one that MeshCentral's built-in strategy may have used
  'no_effect', // beside other members
  'nobody_admitted',
  'other_host', // than the one that browsers begin a login at
  'placeholder', // left over from an example
  'not_boolean', // a `newAccounts` that MeshCentral counts as false
  'text_ignored', // a port that MeshCentral ignores
  'host_name_missing', // without `settings.cert`, it comes from the redirect address
  'misplaced', // where nothing reads it
  'plugin_not_listed', // MeshCentral loads it only if it was installed on its plugin page
  'not_recorded', // without `settings.authLog`
  'session_key_missing',
  'no_way_for_admins', // without passwords, possibly nobody can administer the server
] as const
export type WarningCode = (typeof WARNING_CODES)[number]

/** Something that works, or does nothing, but is probably not what was meant. Same rules as for a problem. */
export interface Warning extends Problem {
  readonly code: WarningCode
}

/** Steps into an object: names of members and indexes of array items. */
export type Steps = readonly (string | number)[]

/** What a rule has to say about an `oidc` object: a problem, or with `warning` a warning of that code. */
export interface Finding {
  /** Below the `oidc` object. */
  readonly at: Steps
  readonly reason: string
  readonly remedy: string
  readonly warning?: WarningCode
}
