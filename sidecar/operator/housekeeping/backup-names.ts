const PREFIX = 'mesh-companion-'
const TIME = '\\d{8}T\\d{9}Z'

/**
 * Returns the file name for a new backup, such as `mesh-companion-N0CALL-10-20260131T235959123Z.sqlite`. The time is in
 * UTC, so that names sort by age.
 */
export function nameOf(callsign: string, now: number): string {
  return `${PREFIX}${callsign}-${new Date(now).toISOString().replaceAll(/[-:.]/g, '')}.sqlite`
}

/** Returns the time in a backup's file name, in milliseconds since 1970. */
export function timeOf(name: string): number {
  const written = name.slice(name.lastIndexOf('-') + 1)
  return Date.parse(written.replace(/^(.{4})(..)(..T..)(..)(..)([^Z]*Z).*$/, '$1-$2-$3:$4:$5.$6'))
}

/** Whether a file name belongs to a backup of this sidecar. Other files in the folder are never removed. */
export function isBackup(name: string, callsign: string): boolean {
  return new RegExp(`^${PREFIX}${callsign}-${TIME}\\.sqlite$`).test(name)
}

/** Whether a file name belongs to an unfinished backup of this sidecar. */
export function isDraft(name: string, callsign: string): boolean {
  return new RegExp(`^${PREFIX}${callsign}-${TIME}\\.sqlite\\.part(-journal|-wal)?$`).test(name)
}
