import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** A project of somebody else that has this package installed: what it ships, and the packages that come with it. */
export interface Project {
  /** Has further packages, as `npm install` would bring them. */
  add(...names: readonly string[]): Promise<void>
  write(file: string, text: string): Promise<void>
  /** Runs a program of Node there; rejects with its output where it fails. @returns what it wrote on stdout */
  node(...args: readonly string[]): Promise<string>
  remove(): Promise<void>
}

/** Path of a command of a package that is installed here. */
export const program = (name: string) => join(ROOT, 'node_modules', name)

/** Builds the package and lays it into an empty project. */
export async function makeProject(): Promise<Project> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'testing-')))
  const remove = () => rm(folder, { recursive: true, force: true })
  const add = async (...names: readonly string[]) => {
    for (const name of names) {
      const place = join(folder, 'node_modules', name)
      await mkdir(dirname(place), { recursive: true })
      await symlink(join(ROOT, 'node_modules', name), place, 'dir')
    }
  }
  try {
    const home = join(folder, 'node_modules/mesh-companion')
    await mkdir(home, { recursive: true })
    await cp(join(ROOT, 'package.json'), join(home, 'package.json'))
    await runNode(ROOT, [program('typescript/bin/tsc'), '-p', '.tsconfig.build.json', '--outDir', join(home, 'dist')])
    const { dependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>
    }
    await add(...Object.keys(dependencies))
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  } catch (error) {
    await remove()
    throw error
  }
  return {
    add,
    write: (file, text) => writeFile(join(folder, file), text),
    node: (...args) => runNode(folder, args),
    remove,
  }
}

async function runNode(cwd: string, args: readonly string[]): Promise<string> {
  // A loader of the tests' own would find packages that the project does not have.
  const { NODE_OPTIONS: _loader, ...env } = process.env
  try {
    return (await promisify(execFile)(process.execPath, args, { cwd, env })).stdout
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    throw new Error(`${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error })
  }
}
