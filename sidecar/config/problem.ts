/** One mistake in the configuration. Never quotes a value: it may be a secret. */
export interface Problem {
  /** Where: `aprsis.passcode`, `$` for the file as a whole, or the name of an environment variable. */
  readonly path: string
  /** What is wrong, to be read after the path: `must be 1 to 65535`. */
  readonly reason: string
  /** What to do about it, a whole sentence. */
  readonly remedy: string
}
