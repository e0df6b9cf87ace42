import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { keepOnce } from '../idps/support/kept.ts'
import { scratchFor } from '../idps/support/scratch.ts'
import { installPackages, needPrograms } from '../idps/support/system-packages.ts'

const LIMIT_MS = 400_000

/** The folder with the tools for clients in one language, or the reason why the tools are missing. */
export type Tools =
  | { readonly kind: 'installed'; readonly folder: string }
  | { readonly kind: 'missing'; readonly reason: string }

/** Runs a program in a folder. Rejects with its error output if it fails. @returns what it prints */
export async function run(folder: string, program: string, words: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, words, { cwd: folder, timeout: LIMIT_MS })
  return stdout
}

/** `tools/` has the generator and the Kotlin compiler, `client/` the libraries of a Kotlin client. */
export function javaTools(): Promise<Tools> {
  return kept('kotlin', 'pom.xml', { java: 'openjdk-17-jre-headless', mvn: 'maven' }, async (folder) => {
    for (const [scope, to] of [
      ['provided', 'tools'],
      ['runtime', 'client'],
    ])
      await run(folder, 'mvn', [
        ...['-q', '-B', 'dependency:copy-dependencies', `-DincludeScope=${scope}`, `-DoutputDirectory=${to}`],
      ])
  })
}

/** `venv/bin/` has the generator, and a Python with the libraries of a client. */
export function pythonTools(): Promise<Tools> {
  return kept('python', 'requirements.txt', { python3: 'python3' }, async (folder) => {
    const make = () => run(folder, 'python3', ['-m', 'venv', 'venv'])
    // Debian's Python lacks the module that creates virtual environments.
    await make().catch(async () => {
      const missing = await installPackages(['python3-venv'])
      if (missing !== undefined) throw new Error(missing)
      await make()
    })
    const options = ['--quiet', '--disable-pip-version-check', '--requirement', 'requirements.txt']
    await run(folder, 'venv/bin/python', ['-m', 'pip', 'install', ...options])
  })
}

/** `node_modules/`: the generator, the compiler, and what a client runs with. */
export function typescriptTools(): Promise<Tools> {
  return kept('typescript', 'package.json', {}, async (folder) => {
    await run(folder, 'npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'])
  })
}

async function kept(
  language: string,
  manifest: string,
  programs: Readonly<Record<string, string>>,
  install: (folder: string) => Promise<void>,
): Promise<Tools> {
  const reason = await needPrograms(programs)
  if (reason !== undefined) return { kind: 'missing', reason }
  const source = fileURLToPath(new URL(`${language}/${manifest}`, import.meta.url))
  const scratch = await scratchFor(`generators-${language}`)
  const wanted = createHash('sha256').update(await readFile(source))
  const folder = join(scratch, wanted.digest('hex').slice(0, 16))
  const failed = await keepOnce(scratch, folder, async (coming) => {
    await cp(source, join(coming, manifest))
    await install(coming)
    return undefined
  })
  return failed === undefined ? { kind: 'installed', folder } : { kind: 'missing', reason: failed }
}
