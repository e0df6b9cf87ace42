/** What the rules ask of the world around the file. */
export interface Surroundings {
  /** The text of a file; throws an error with a `code`, such as ENOENT, when it cannot be read. */
  readonly readFile: (path: string) => string
  /** The APRS-IS passcode of a callsign. */
  readonly passcodeOf: (callsign: string) => number
}
