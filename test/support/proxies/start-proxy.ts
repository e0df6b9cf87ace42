import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { foldersBelow, unpackPackages } from '../../idps/support/debian-packages.ts'
import { scratchFor } from '../../idps/support/scratch.ts'
import { until } from '../../meshcentral/support/until.ts'

export type ProxyName = 'nginx' | 'Apache' | 'Caddy' | 'HAProxy'

/** A real proxy in a process of its own, on loopback. */
export interface RunningProxy {
  /** What it wrote, its error log included. */
  output(): Promise<string>
  stop(): Promise<void>
}

/** What stands around the sites of an administrator, as small as it may be: the limits are the proxy's own. */
interface Program {
  readonly command: string
  readonly around: (site: string, folder: string, root: string) => string
  readonly args: (file: string, folder: string) => readonly string[]
}

const PACKAGES = ['nginx-light', 'apache2-bin', 'caddy', 'haproxy']
const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
const MODULES = [
  ...['mpm_event', 'authz_core', 'ssl', 'socache_shmcb', 'headers', 'proxy', 'proxy_http', 'http2'],
  ...['proxy_balancer', 'lbmethod_byrequests', 'slotmem_shm'],
]

const PROGRAMS: Readonly<Record<ProxyName, Program>> = {
  nginx: {
    command: 'nginx',
    around: (site, folder) => `${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
pid ${folder}/pid;
worker_processes 1;
events {}
http {
access_log off;
${TEMPORARY.map((what) => `${what}_temp_path ${folder}/${what};`).join('\n')}
${site}
}`,
    args: (file, folder) => ['-p', folder, '-c', file, '-e', join(folder, 'error.log')],
  },
  Apache: {
    command: 'apache2',
    around: (site, folder, root) => `ServerRoot ${folder}
DefaultRuntimeDir ${folder}
PidFile ${folder}/pid
ErrorLog ${folder}/error.log
ServerName localhost
${process.getuid?.() === 0 ? 'User nobody\nGroup nogroup' : ''}
${MODULES.map((name) => `LoadModule ${name}_module ${root}/usr/lib/apache2/modules/mod_${name}.so`).join('\n')}
${site}`,
    args: (file) => ['-f', file, '-DFOREGROUND'],
  },
  Caddy: {
    command: 'caddy',
    around: (site, folder) => `{
admin off
auto_https disable_redirects
storage file_system ${folder}
}
${site}`,
    args: (file) => ['run', '--config', file, '--adapter', 'caddyfile'],
  },
  HAProxy: { command: 'haproxy', around: (site) => site, args: (file) => ['-db', '-f', file] },
}

export const PROXIES = Object.keys(PROGRAMS) as readonly ProxyName[]

/**
 * Starts a proxy of this machine, or else Debian's, unpacked beside the system.
 *
 * @param site its configuration, as an administrator adds it to what the package comes with
 * @param port where it listens then, on 127.0.0.1 at least
 * @returns why there can be none, as a text
 * @throws Error with its output where it does not start
 */
export async function startProxy(name: ProxyName, site: string, port: number): Promise<RunningProxy | string> {
  const found = await findProgram(PROGRAMS[name].command)
  if (typeof found === 'string') return found
  const folder = await mkdtemp(join(tmpdir(), 'mesh-companion-proxy-'))
  const file = join(folder, 'proxy.conf')
  await writeFile(file, `${PROGRAMS[name].around(site, folder, found.root)}\n`)
  const child = spawn(found.command, PROGRAMS[name].args(file, folder), {
    env: { ...process.env, ...found.env, HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-20_000)
    })
  }
  const ended = once(child, 'close')
  const output = async () => said + (await readFile(join(folder, 'error.log'), 'utf8').catch(() => ''))
  const isUp = () => child.exitCode === null && child.signalCode === null
  const stop = async () => {
    process.off('exit', kill)
    // At once: its sessions need no farewell, and the next one listens at the same port.
    if (isUp()) child.kill('SIGTERM')
    await ended
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await until(`${name} to listen`, () => {
      if (!isUp()) throw new Error('It ended at its start.')
      return accepts(port)
    })
  } catch (error) {
    const text = await output()
    await stop()
    throw new Error(`${error instanceof Error ? error.message : error}\n${text}`)
  }
  return { output, stop }
}

interface Found {
  readonly command: string
  readonly env: Readonly<Record<string, string>>
  /** What stands for `/`. */
  readonly root: string
}

async function findProgram(command: string): Promise<Found | string> {
  for (const folder of [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']) {
    if (await isThere(join(folder, command))) return { command: join(folder, command), env: {}, root: '' }
  }
  const unpacked = await unpackPackages(await scratchFor('proxies'), PACKAGES)
  if (unpacked.kind === 'missing') return unpacked.reason
  const { root } = unpacked
  const libraries = await foldersBelow(root, 'usr/lib/*')
  for (const folder of ['usr/sbin', 'usr/bin']) {
    const path = join(root, folder, command)
    if (await isThere(path)) return { command: path, env: { LD_LIBRARY_PATH: libraries.join(delimiter) }, root }
  }
  return `Debian's packages have no ${command}`
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}
