import { execFile } from 'node:child_process'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { until } from '../../support/until.ts'
import { exists } from './kept.ts'

const run = promisify(execFile)
const LIMIT_MS = 240_000

/** Maps the name of a program to the Debian package that has it. */
export type Needed = Readonly<Record<string, string>>

/**
 * Installs missing programs from Debian.
 *
 * @returns why that is impossible, or undefined if all are installed
 */
export async function needPrograms(needed: Needed): Promise<string | undefined> {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const missing = new Set<string>()
  for (const [program, name] of Object.entries(needed)) {
    const results = await Promise.all(folders.map((folder) => exists(join(folder, program))))
    if (!results.includes(true)) missing.add(name)
  }
  return missing.size === 0 ? undefined : installPackages([...missing])
}

/** Installs Debian packages. @returns why that is impossible, or undefined */
export async function installPackages(packages: readonly string[]): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return `needs ${packages.join(', ')} from Debian, and only root can install them`
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const apt = (...words: string[]) => run('apt-get', words, { timeout: LIMIT_MS, env: environment })
  try {
    // Providers are installed in parallel, but only one process at a time can install packages.
    for (const words of [['update'], ['install', '-y', '--no-install-recommends', ...packages]])
      await until('the lock of the package manager', () => apt('-qq', ...words).catch(busy), LIMIT_MS)
    return undefined
  } catch (error) {
    return `Debian gives no ${packages.join(', ')}: ${error instanceof Error ? error.message.split('\n', 1)[0] : 'unknown'}`
  }
}

function busy(error: unknown): false {
  const output = error instanceof Error && 'stderr' in error ? String(error.stderr) : ''
  if (/could not get lock|unable to lock/i.test(output)) return false
  throw error
}
