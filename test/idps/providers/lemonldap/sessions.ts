import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Person } from '../../support/people.ts'

/** One login at the portal, stored as a file. */
export interface PortalSession {
  /** The value of the browser's cookie. */
  readonly id: string
  /** Time of the last change in milliseconds since 1970: the login, or the login at a further relying party. */
  readonly changedMs: number
}

export async function sessionsOf(folder: string, { username }: Person): Promise<readonly PortalSession[]> {
  const files = await readdir(folder, { withFileTypes: true })
  const sessions = await Promise.all(
    files
      .filter((file) => file.isFile())
      .map(async ({ name }): Promise<readonly PortalSession[]> => {
        const path = join(folder, name)
        // Codes and access tokens are in the same folder, and may be deleted meanwhile.
        const [text, { mtimeMs }] = await Promise.all([readFile(path, 'utf8'), stat(path)]).catch(
          () => ['{}', { mtimeMs: 0 }] as const,
        )
        const { _session_kind: kind, uid } = JSON.parse(text) as { _session_kind?: string; uid?: string }
        return kind === 'SSO' && uid === username ? [{ id: name, changedMs: mtimeMs }] : []
      }),
  )
  return sessions.flat()
}

/** Empties the folder of sessions, or creates it. */
export async function clearSessions(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(join(folder, 'lock'), { recursive: true })
}

/** Makes all sessions and tokens in the folder as old as 1970. */
export async function ageSessions(folder: string): Promise<void> {
  for (const file of await readdir(folder, { withFileTypes: true })) {
    if (!file.isFile()) continue
    const path = join(folder, file.name)
    await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, 'utf8')), _utime: 1 }))
  }
}
