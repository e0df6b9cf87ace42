import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { Settings } from '../../config/settings.ts'

/** The group in which the systemd unit runs. Its user exists only while the service runs. */
const SERVICE_GROUP = 'mesh-companion'

/**
 * The id of a user that owns no files and is in no group. A process with this user and the service's group may read
 * exactly the files that the service may read.
 */
const NOBODY_UID = 65534

/** A shell script that prints the names of files that it cannot read, each followed by NUL. */
const PRINT_UNREADABLE = 'for file do [ -r "$file" ] || printf "%s\\\\0" "$file"; done'

/**
 * Returns a sentence for each file of the configuration that the systemd service may not read. Needs root, to try with
 * the service's rights.
 *
 * @param gid id of the service's group, from {@link serviceGroup}
 */
export async function unreadableByService(
  settings: Settings,
  configFile: string,
  gid: number | undefined,
): Promise<readonly string[]> {
  if (gid === undefined) return []
  const files = [configFile, ...filesOf(settings)]
  const shell = ['-c', PRINT_UNREADABLE, 'sh', ...files]
  const { stdout } = await promisify(execFile)('/bin/sh', shell, { uid: NOBODY_UID, gid, timeout: 5000 })
  return stdout
    .split('\0')
    .filter((file) => file !== '')
    .map(
      (file) =>
        `The service, which runs in the group ${SERVICE_GROUP}, cannot read ${file}. Run chgrp ${SERVICE_GROUP} and chmod g+r on the file, and let the group enter its folders.`,
    )
}

/** Returns the id of the service's group; undefined if this process is not root or there is no such group. */
export async function serviceGroup(): Promise<number | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const groups = await readFile('/etc/group', 'utf8').catch(() => '')
  const line = groups.split('\n').find((entry) => entry.startsWith(`${SERVICE_GROUP}:`))
  const gid = Number(line?.split(':')[2])
  return Number.isInteger(gid) && line !== undefined ? gid : undefined
}

function filesOf({ listen, databaseTls, push: { fcm, apns, webpush } }: Settings): readonly string[] {
  const named = [
    ...[listen.certFile, listen.keyFile, databaseTls.caFile, fcm.serviceAccountFile, fcm.caFile],
    ...[apns.keyFile, apns.caFile, webpush.caFile],
  ]
  return named.filter((file) => file !== null)
}
