import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { npmForWindows, type Outcome, type Wine, windowsPath } from './wine.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const FOLDERS = ['plugin', 'sidecar', 'fixtures', 'test']
const FILES = ['package.json', 'package-lock.json', '.npmrc', 'tsconfig.json', 'LICENSE']

/** A copy of this project with the packages for Windows. */
export interface ProjectCopy {
  readonly path: string
  /** Runs npm by Node.js for Windows in the copy. npm starts the script by `cmd.exe`. */
  npm(...args: readonly string[]): Promise<Outcome>
}

export async function copyProject({ folder, run }: Wine): Promise<ProjectCopy> {
  const path = join(folder, 'project')
  const wasm = join(folder, 'wasm')
  await mkdir(path)
  await mkdir(wasm)
  for (const part of [...FOLDERS, ...FILES]) await cp(join(ROOT, part), join(path, part), { recursive: true })
  await npmForWindows(path, 'ci')
  // The native esbuild is written in Go, which needs a random number library that this Wine lacks. So use the
  // WebAssembly build.
  const esbuild = join(path, 'node_modules/esbuild')
  const { version } = JSON.parse(await readFile(join(esbuild, 'package.json'), 'utf8')) as { readonly version: string }
  await npmForWindows(wasm, 'install', '--no-save', `esbuild-wasm@${version}`)
  await rm(esbuild, { recursive: true })
  await rename(join(wasm, 'node_modules/esbuild-wasm'), esbuild)
  const { stdout } = await promisify(execFile)('npm', ['root', '--global'])
  const cli = `${windowsPath(stdout.trim())}\\npm\\bin\\npm-cli.js`
  return { path, npm: (...args) => run(path, 'node.exe', cli, ...args) }
}
