import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { RUN_FOLDER } from './run-folder.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** A project in a temporary folder that has installed the packed package. */
export type Project = Awaited<ReturnType<typeof projectIn>>

let packed: string | undefined
const PACK_LIMIT_MS = 180_000

/** Packs this repository with npm, once per test run. @returns the path of the file, which is removed after the run */
export function packPackage(): string {
  packed ??= packOnce()
  return packed
}

function packOnce(): string {
  const run = process.env[RUN_FOLDER]
  if (run === undefined) {
    const folder = mkdtempSync(join(tmpdir(), 'tarball-'))
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
    return pack(folder)
  }
  const [folder, whole] = [join(run, 'package'), join(run, 'package.tgz')]
  try {
    mkdirSync(folder)
  } catch {
    // The folder exists, so another process packs the package or has packed it. Wait for its file.
    const turn = new Int32Array(new SharedArrayBuffer(4))
    for (let waitedMs = 0; !existsSync(whole); waitedMs += 100) {
      if (waitedMs > PACK_LIMIT_MS) throw new Error('nobody has packed the package')
      Atomics.wait(turn, 0, 0, 100)
    }
    return whole
  }
  renameSync(pack(folder), whole)
  return whole
}

function pack(folder: string): string {
  const command = ['pack', '--json', '--silent', '--pack-destination', folder]
  const output = execFileSync('npm', command, { cwd: ROOT, encoding: 'utf8', shell: process.platform === 'win32' })
  const [packed] = JSON.parse(output.slice(output.indexOf('['))) as readonly { readonly filename: string }[]
  return join(folder, packed?.filename ?? '')
}

interface InstallOptions {
  /** Peer dependencies that the user installs too, each with the packages that it needs. Default: all. */
  readonly peers?: readonly string[]
  /** Installs no other package at all. */
  readonly alone?: boolean
  /** A package that is not installed, as if npm could not build it. */
  readonly without?: string
}

/**
 * Installs `tarball` like `npm install`, but without a registry: its dependencies in the lock file become links to the
 * packages of this repository. The project finds no other packages, because Node.js does not resolve the links.
 */
export async function installPackage(
  tarball: string,
  { peers, alone = false, without }: InstallOptions = {},
): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), 'project-'))
  const modules = join(folder, 'node_modules')
  const home = join(modules, 'mesh-companion')
  await mkdir(home, { recursive: true })
  execFileSync('tar', ['-xzf', tarball, '-C', home, '--strip-components', '1'])
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module', private: true }))

  const installed = alone ? [] : await installedFolders(peers)
  const packages = installed.filter((path) => path !== `node_modules/${without}`)
  for (const path of packages) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await symlink(join(ROOT, path), join(folder, path), 'junction')
  }
  const { bin } = JSON.parse(await readFile(join(home, 'package.json'), 'utf8')) as { bin: Record<string, string> }
  await mkdir(join(modules, '.bin'))
  for (const [name, file] of Object.entries(bin)) {
    await symlink(join(home, file), join(modules, '.bin', name))
    await chmod(join(home, file), 0o755)
  }

  const names = packages.map((path) => path.slice('node_modules/'.length))
  return projectIn(folder, names, '--preserve-symlinks')
}

/** A project into which npm itself has installed the packed package. */
export type NpmProject = NonNullable<Awaited<ReturnType<typeof installByNpm>>>

/** Installs `tarball` with npm. Resolves with undefined if the registry cannot be reached. */
export async function installByNpm(tarball: string) {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'project-')))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module', private: true }))
    await npmInstall(folder, [tarball])
    const beside = (await readdir(join(folder, 'node_modules'))).filter((name) => !name.startsWith('.'))
    return {
      ...(await projectIn(folder, beside)),
      /**
       * Installs further packages, given as `NAME` or `NAME@VERSION`. The default version is the one in this
       * repository, if it has the package.
       */
      async add(...names: readonly string[]) {
        const locked = await lockedPackages()
        const version = (name: string) => locked[`node_modules/${name}`]?.version
        await npmInstall(
          folder,
          names.map((name) => (version(name) === undefined ? name : `${name}@${version(name)}`)),
        )
      },
    }
  } catch (error) {
    await remove()
    const { stderr = '' } = error as { readonly stderr?: string }
    if (/\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|ETIMEDOUT|ENOTCACHED)\b/.test(stderr))
      return undefined
    throw error
  }
}

async function npmInstall(folder: string, packages: readonly string[]): Promise<void> {
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline']
  const options = { cwd: folder, shell: process.platform === 'win32' }
  await promisify(execFile)('npm', ['install', ...quiet, ...packages], options)
}

async function projectIn(folder: string, packages: readonly string[], options = '') {
  const modules = join(folder, 'node_modules')
  const home = join(modules, 'mesh-companion')
  const run = (command: string, args: readonly string[]) =>
    spawnSync(command, args, { cwd: folder, encoding: 'utf8', env: { ...process.env, NODE_OPTIONS: options } })
  return {
    folder,
    /** Paths of the files in the package. */
    shipped: (await readdir(home, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(home.length + 1))
      .filter((path) => !path.startsWith('node_modules'))
      .map((path) => path.replaceAll('\\', '/')),
    /** Names of the packages that are installed beside the package. */
    packages,
    write: (name: string, text: string) => writeFile(join(folder, name), text),
    /** Runs Node.js in the project. */
    node: (...args: readonly string[]) => run(process.execPath, args),
    /** Runs a command of the package. */
    bin: (name: string, ...args: readonly string[]) => run(join(modules, '.bin', name), args),
    /** Type-checks files of the project with the TypeScript compiler. */
    compile: (...args: readonly string[]) => {
      const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
      return run(process.execPath, [tsc, '--noEmit', '--ignoreConfig', '--preserveSymlinks', ...args])
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

interface Locked {
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

/** Returns the names of the packages that npm installs with the package and these of its peer dependencies. */
export async function installedPackages(peers: readonly string[]): Promise<readonly string[]> {
  const folders = await foldersWith(peers)
  return [...new Set(folders.map((path) => path.replace(/^.*node_modules\//, '')))].sort()
}

/**
 * Returns the folders of the packages that npm installs beside the package. Leaves out folders inside other packages,
 * because a link to the outer folder includes them.
 */
async function installedFolders(peers?: readonly string[]): Promise<readonly string[]> {
  return (await foldersWith(peers)).filter((path) => path.lastIndexOf('node_modules/') === 0)
}

/** Returns the folders of all packages that the package and these peer dependencies need, as in the lock file. */
async function foldersWith(peers?: readonly string[]): Promise<readonly string[]> {
  const locked = await lockedPackages()
  const { dependencies = {}, peerDependencies = {} } = locked[''] ?? {}
  const folders = new Set<string>()
  const add = (name: string, from: string): void => {
    const path = folderOf(name, from, locked)
    if (path === undefined || folders.has(path)) return
    folders.add(path)
    const { dependencies, optionalDependencies, peerDependencies = {}, peerDependenciesMeta = {} } = locked[path] ?? {}
    const required = Object.keys(peerDependencies).filter((peer) => !peerDependenciesMeta[peer]?.optional)
    for (const needed of [...Object.keys({ ...dependencies, ...optionalDependencies }), ...required]) add(needed, path)
  }
  for (const name of [...Object.keys(dependencies), ...(peers ?? Object.keys(peerDependencies))]) add(name, '')
  return [...folders]
}

/** Finds a package as Node.js does: in the `node_modules` of the package that needs it, then in the outer ones. */
function folderOf(name: string, from: string, locked: Readonly<Record<string, Locked>>): string | undefined {
  const path = from === '' ? `node_modules/${name}` : `${from}/node_modules/${name}`
  if (path in locked) return path
  if (from === '') return undefined
  const above = from.lastIndexOf('/node_modules/')
  return folderOf(name, above === -1 ? '' : from.slice(0, above), locked)
}

async function lockedPackages(): Promise<Readonly<Record<string, Locked>>> {
  const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Locked>
  }
  return packages
}
