import { VERSION } from '../../config/version.ts'

/**
 * Longest login line that servers accept, in bytes, without its line end. At a longer one, they close the connection.
 * Measured on aprsc 2.1.21.
 */
export const MAX_LOGIN_LINE_BYTES = 7998

/** Name and version as APRS-IS servers show them. */
const SOFTWARE = `mesh-companion ${VERSION}`

const LONGEST_CALLSIGN = 'AAAAAA-99'
const LONGEST_PASSCODE = 32767

/** A line that servers ignore. It shows them that the client still writes. */
export const KEEP_ALIVE_LINE = `# ${SOFTWARE}`

/** Longest filter, in bytes, that fits in a login line with any callsign and passcode. */
export const LOGIN_FILTER_BYTES = MAX_LOGIN_LINE_BYTES - loginLine(LONGEST_CALLSIGN, LONGEST_PASSCODE, '').length

/** Returns the line that logs in and sets the filter at once, so that no message is missed in between. */
export function loginLine(callsign: string, passcode: number, filter: string): string {
  return `user ${callsign} pass ${passcode} vers ${SOFTWARE} filter ${filter}`
}

/** A server's answer to a login. `server` is its name. */
export interface LoginAnswer {
  readonly verified: boolean
  readonly server: string
}

/**
 * Parses an answer to a login. Returns undefined if `line` is not one. A login without the word `verified` is
 * unverified: udpgate4 answers `# logresp CALL server NAME`.
 */
export function parseLoginAnswer(line: string): LoginAnswer | undefined {
  const answer = /^# logresp \S+(.*)/.exec(line)?.[1]
  if (answer === undefined) return undefined
  const [, server = 'unknown'] = /\bserver ([A-Za-z0-9-]+)/.exec(answer) ?? []
  return { verified: /\bverified\b/.test(answer), server }
}
