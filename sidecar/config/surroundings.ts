/** The functions that rules use to read data outside the configuration file. */
export interface Surroundings {
  /** Returns the text of a file. Throws an error with a `code`, such as ENOENT, if it cannot be read. */
  readonly readFile: (path: string) => string
  /** Returns the APRS-IS passcode of a callsign. */
  readonly passcodeOf: (callsign: string) => number
}
