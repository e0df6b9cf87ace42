import { execFile } from 'node:child_process'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { until } from '../../meshcentral/support/until.ts'
import { exists } from './kept.ts'

const run = promisify(execFile)
const LIMIT_MS = 240_000

/** What a program is called, and the Debian package that has it. */
export type Needed = Readonly<Record<string, string>>

/**
 * Installs from Debian what is not there yet.
 *
 * @returns why that is not possible; undefined when all is there
 */
export async function needPrograms(needed: Needed): Promise<string | undefined> {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const missing = new Set<string>()
  for (const [program, name] of Object.entries(needed)) {
    const found = await Promise.all(folders.map((folder) => exists(join(folder, program))))
    if (!found.includes(true)) missing.add(name)
  }
  return missing.size === 0 ? undefined : installPackages([...missing])
}

/** The same for packages by name, whatever is in them. */
export async function installPackages(packages: readonly string[]): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return `needs ${packages.join(', ')} from Debian, and only root can install them`
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const apt = (...words: string[]) => run('apt-get', words, { timeout: LIMIT_MS, env: environment })
  try {
    // Providers are installed beside one another, and packages by one at a time.
    for (const words of [['update'], ['install', '-y', '--no-install-recommends', ...packages]])
      await until('the lock of the package manager', () => apt('-qq', ...words).catch(busy), LIMIT_MS)
    return undefined
  } catch (error) {
    return `Debian gives no ${packages.join(', ')}: ${error instanceof Error ? error.message.split('\n', 1)[0] : 'unknown'}`
  }
}

function busy(error: unknown): false {
  const said = error instanceof Error && 'stderr' in error ? String(error.stderr) : ''
  if (/could not get lock|unable to lock/i.test(said)) return false
  throw error
}
