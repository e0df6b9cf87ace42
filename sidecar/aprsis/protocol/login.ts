import { VERSION } from '../../config/version.ts'

/**
 * Longest login line that servers accept, in bytes, without its line end. After a longer line, they close the
 * connection. Measured on aprsc 2.1.21.
 */
export const MAX_LOGIN_LINE_BYTES = 7998

/** Name and version of the sidecar. APRS-IS servers show them on their status pages. */
const SOFTWARE = `mesh-companion ${VERSION}`

const LONGEST_CALLSIGN = 'AAAAAA-99'
const LONGEST_PASSCODE = 32767

/** The keep-alive line: an APRS-IS comment. Servers do not process it, but they drop clients that never send a line. */
export const KEEP_ALIVE_LINE = `# ${SOFTWARE}`

/** Longest filter, in bytes, that fits in a login line with any callsign and passcode. */
export const LOGIN_FILTER_BYTES = MAX_LOGIN_LINE_BYTES - loginLine(LONGEST_CALLSIGN, LONGEST_PASSCODE, '').length

/** Returns the line that logs in and sets the filter at once, so that no message is missed between login and filter. */
export function loginLine(callsign: string, passcode: number, filter: string): string {
  return `user ${callsign} pass ${passcode} vers ${SOFTWARE} filter ${filter}`
}

/**
 * A server's answer to a login. `server` is the server's name. `verified` is true if the server accepted the passcode.
 */
export interface LoginAnswer {
  readonly verified: boolean
  readonly server: string
}

/**
 * Parses an answer to a login; undefined for other lines. An unverified login may lack the word `verified`: `# logresp
 * CALL server NAME` (udpgate4).
 */
export function parseLoginAnswer(line: string): LoginAnswer | undefined {
  const answer = /^# logresp \S+(.*)/.exec(line)?.[1]
  if (answer === undefined) return undefined
  const [, server = 'unknown'] = /\bserver ([A-Za-z0-9-]+)/.exec(answer) ?? []
  return { verified: /\bverified\b/.test(answer), server }
}
