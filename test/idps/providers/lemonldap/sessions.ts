import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Person } from '../../support/people.ts'

/** One login at the portal, which is a file. */
export interface PortalSession {
  /** What the browser's cookie says. */
  readonly id: string
  /** Milliseconds since 1970 of the last change: the login itself, or that of a further relying party. */
  readonly changedMs: number
}

export async function sessionsOf(folder: string, { username }: Person): Promise<readonly PortalSession[]> {
  const files = await readdir(folder, { withFileTypes: true })
  const found = await Promise.all(
    files
      .filter((file) => file.isFile())
      .map(async ({ name }): Promise<readonly PortalSession[]> => {
        const path = join(folder, name)
        // Codes and access tokens lie beside them, and end meanwhile.
        const [text, { mtimeMs }] = await Promise.all([readFile(path, 'utf8'), stat(path)]).catch(
          () => ['{}', { mtimeMs: 0 }] as const,
        )
        const { _session_kind: kind, uid } = JSON.parse(text) as { _session_kind?: string; uid?: string }
        return kind === 'SSO' && uid === username ? [{ id: name, changedMs: mtimeMs }] : []
      }),
  )
  return found.flat()
}

/** Empties the folder of sessions, and makes it where there is none. */
export async function clearSessions(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(join(folder, 'lock'), { recursive: true })
}

/** Everything in the folder was begun, or handed out, at the beginning of 1970. */
export async function ageSessions(folder: string): Promise<void> {
  for (const file of await readdir(folder, { withFileTypes: true })) {
    if (!file.isFile()) continue
    const path = join(folder, file.name)
    await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, 'utf8')), _utime: 1 }))
  }
}
