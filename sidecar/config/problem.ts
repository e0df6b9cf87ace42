/** One mistake in the configuration. Never quotes a value, which may be a secret. */
export interface Problem {
  /** The place: `aprsis.passcode`, `$` for the whole file, or the name of an environment variable. */
  readonly path: string
  /** The mistake, as the end of a sentence that begins with the path: `must be 1 to 65535`. */
  readonly reason: string
  /** The correction, as a full sentence. */
  readonly remedy: string
}
