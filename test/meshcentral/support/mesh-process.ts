import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { request } from 'node:https'
import { connect } from 'node:net'
import { join } from 'node:path'
import { until } from '../../support/until.ts'

/** Shorter than the limit of a test, so that a failed start shows the console output. */
const START_LIMIT_MS = 100_000
/** MeshCentral's message when it installs a package by npm, which takes minutes and changes the shared installation. */
const INSTALLS = 'Installing modules'

/** MeshCentral's message when it accepts connections, by HTTP if a proxy ends TLS. */
const LISTENS = /MeshCentral HTTPS? server running on/

/** MeshCentral's server process, without the launcher that would restart it. */
export interface MeshProcess {
  readonly pid: number
  /** Returns the console output so far. */
  readonly output: () => string
  /** Whether the server is still running. */
  readonly isUp: () => boolean
  /** Kills the server, as a power cut would. Idempotent. */
  stop(): Promise<void>
  /** Stops the server as a service manager does and waits for its exit. @returns the signal or exit code */
  terminate(signal: 'SIGTERM' | 'SIGINT'): Promise<string | number | null>
}

/**
 * Another Node.js than that of this process, such as the one for Windows. It does not support pipes, so its output goes
 * to a file.
 */
export interface OtherNode {
  readonly command: string
  /** Arguments in front of MeshCentral's options. */
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Converts a path of this machine for programs of that Node.js. */
  pathOf(path: string): string
}

export interface ProcessOptions {
  /** The folder of MeshCentral's installation. */
  readonly installation: string
  readonly dataPath: string
  readonly port: number
  /** Further options of Node.js. */
  readonly nodeOptions?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Default: the Node.js of this process. */
  readonly node?: OtherNode | undefined
}

/** Running servers, which must not outlive this process. */
const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    for (const child of running) child.kill('SIGKILL')
    process.kill(process.pid, signal)
  })
}

/** Starts MeshCentral. Resolves once the server answers. */
export async function startMeshProcess(options: ProcessOptions): Promise<MeshProcess> {
  const { port } = options
  const { child, output } = spawnNode(options)
  running.add(child)
  const ended = once(child, 'close')
  const isUp = () => child.exitCode === null && child.signalCode === null
  const end = async () => {
    await ended
    running.delete(child)
  }
  const server: MeshProcess = {
    pid: child.pid ?? 0,
    output,
    isUp,
    async stop() {
      child.kill('SIGKILL')
      await end()
      // Wine's own server may hold the port a moment longer.
      if (options.node) await until('the port to be free', () => refuses(port))
    },
    async terminate(signal) {
      child.kill(signal)
      await end()
      return child.signalCode ?? child.exitCode
    },
  }
  try {
    await until(
      'MeshCentral to answer',
      () => {
        if (!isUp()) throw new Error('MeshCentral ended at its start.')
        if (output().includes(INSTALLS)) throw new Error('MeshCentral lacks a package: add it to PACKAGES.')
        return LISTENS.test(output()) && answers(port)
      },
      START_LIMIT_MS,
    )
  } catch (cause) {
    await server.stop()
    throw new Error(`${cause instanceof Error ? cause.message : String(cause)}\n${output()}`)
  }
  return server
}

function spawnNode(options: ProcessOptions): { readonly child: ChildProcess; readonly output: () => string } {
  const { installation, dataPath, nodeOptions = [], env = {}, node } = options
  const pathOf = (path: string) => node?.pathOf(path) ?? path
  const args = [
    ...(node?.args ?? []),
    '--disable-proto=delete',
    ...nodeOptions,
    pathOf(join(installation, 'node_modules/meshcentral/meshcentral.js')),
    ...['--launch', '1', '--datapath', pathOf(dataPath), '--filespath', pathOf(join(dataPath, 'files'))],
  ]
  const place = { cwd: installation, env: { ...process.env, ...node?.env, ...env } }
  if (node) {
    const file = join(dataPath, 'console.log')
    const descriptor = openSync(file, 'a')
    const child = spawn(node.command, args, { ...place, stdio: ['ignore', descriptor, descriptor] })
    closeSync(descriptor)
    return { child, output: () => readFileSync(file, 'utf8') }
  }
  // The server exits when its standard input ends, so it never outlives this process.
  const child = spawn(process.execPath, args, { ...place, stdio: ['pipe', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  return { child, output: () => output }
}

function refuses(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const settle = (refused: boolean) => {
      socket.destroy()
      resolve(refused)
    }
    socket.once('connect', () => settle(false)).once('error', () => settle(true))
  })
}

/** Whether the server at the port is ready. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const healthRequest = request(
      { host: '127.0.0.1', port, path: '/health.ashx', rejectUnauthorized: false, timeout: 2_000, agent: false },
      (response) => {
        response.resume()
        resolve(response.statusCode === 200)
      },
    )
    healthRequest.on('error', () => resolve(false))
    healthRequest.on('timeout', () => healthRequest.destroy())
    healthRequest.end()
  })
}
