/** A mistake in the configuration. Its texts never quote a value, because the value may be a secret. */
export interface Problem {
  /** The place of the mistake: `aprsis.passcode`, `$` for the whole file, or the name of an environment variable. */
  readonly path: string
  /** The predicate of a sentence with `path` as its subject, such as `must be 1 to 65535`. */
  readonly reason: string
  /** Instructions for the operator, in full sentences. */
  readonly remedy: string
}
