import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { findDebianProgram } from '../../idps/support/debian-packages.ts'
import { createFolder } from '../file-folder.ts'
import { startProgram } from '../started-program.ts'

export type ProxyName = 'nginx' | 'Apache' | 'Caddy' | 'HAProxy'

/** A real proxy server in its own process, on loopback. */
export type RunningProxy = Exclude<Awaited<ReturnType<typeof startProxy>>, string>

/**
 * How to start a proxy program. `around` adds the minimal configuration around a site, so that the proxy's default
 * limits apply.
 */
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
${TEMPORARY.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join('\n')}
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
 * Starts a proxy program: the installed one, or otherwise Debian's package, unpacked outside the system.
 *
 * @param site configuration of the site, without the parts that `around` adds
 * @param port port on which the proxy listens, at least on 127.0.0.1
 * @returns the reason as a text, if there is no proxy
 * @throws Error with its output if it does not start
 */
export async function startProxy(name: ProxyName, site: string, port: number) {
  const { command, around, args } = PROGRAMS[name]
  const program = await findDebianProgram('proxies', PACKAGES, command)
  if (typeof program === 'string') return program
  const { path: folder, write, remove } = await createFolder('mesh-companion-proxy')
  const file = await write('proxy.conf', `${around(site, folder, program.root)}\n`)
  const env = { ...program.env, HOME: folder }
  const errors = () => readFile(join(folder, 'error.log'), 'utf8').catch(() => '')
  try {
    const started = await startProgram(program.command, args(file, folder), { env, ready: () => accepts(port) })
    return {
      /** Returns the proxy's output and error log. */
      output: async () => started.output() + (await errors()),
      async stop() {
        await started.stop()
        await remove()
      },
    }
  } catch (cause) {
    const text = await errors()
    await remove()
    throw new Error(text, { cause })
  }
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
