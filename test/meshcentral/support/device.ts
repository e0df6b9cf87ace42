import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, chmod, copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installPackages } from '../../idps/support/system-packages.ts'
import type { ControlSocket } from './control-socket.ts'
import { laboratory } from './laboratory.ts'
import { until } from './until.ts'

/** MeshCentral's own agent on a desktop without a screen, which shows a clock. */
export interface Device {
  /** MeshCentral's id of it. */
  readonly id: string
  stop(): Promise<void>
}

/** The agents that MeshCentral brings, and where Debian puts libraries. */
const KINDS: Readonly<Record<string, readonly [agent: string, libraries: string]>> = {
  x64: ['meshagent_x86-64', 'x86_64-linux-gnu'],
  arm64: ['meshagent_aarch64', 'aarch64-linux-gnu'],
}

/**
 * Installs from Debian what the desktop needs and is not there yet.
 *
 * @returns why there can be none; undefined when all is there
 */
export async function needDesktop(): Promise<string | undefined> {
  const kind = process.platform === 'linux' ? KINDS[process.arch] : undefined
  if (!kind) return `MeshCentral has no agent for ${process.platform} on ${process.arch} that is tried here`
  const files = { xvfb: '/usr/bin/Xvfb', xterm: '/usr/bin/xterm', libxtst6: `/usr/lib/${kind[1]}/libXtst.so.6` }
  const missing = await Promise.all(
    Object.entries(files).map(([name, file]) =>
      access(file).then(
        () => [],
        () => [name],
      ),
    ),
  )
  return missing.flat().length === 0 ? undefined : installPackages(missing.flat())
}

/** What runs at the moment, each a group of processes, and must not outlive this one. */
const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) endGroup(child)
})

/** @param page of the user whose device it is, in a group of its own */
export async function startDevice(
  page: ControlSocket,
  settingsOf: (group: string) => Promise<string>,
): Promise<Device> {
  const { installation } = await laboratory()
  const folder = await mkdtemp(join(tmpdir(), 'meshcentral-device-'))
  const started: ChildProcess[] = []
  const start = (program: string, words: readonly string[], display?: string) => {
    const env = { ...process.env, ...(display === undefined ? {} : { DISPLAY: display }) }
    // A group of its own: the agent has a process for its desktop, which it leaves behind.
    const child = spawn(program, words, {
      cwd: folder,
      env,
      detached: true,
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    })
    running.add(child)
    started.push(child)
    return child
  }
  const stop = async () => {
    for (const child of started.splice(0).reverse()) await stopped(child)
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  try {
    const { meshid } = await page.ask('createmesh', { meshname: 'Devices', meshtype: 2, responseid: 'group' })
    const settings = await settingsOf(String(meshid).split('/')[2] ?? '')
    const display = await displayOf(
      start('Xvfb', ['-screen', '0', '640x400x24', '-nolisten', 'tcp', '-displayfd', '3']),
    )
    start('xterm', ['-geometry', '80x24+60+40', '-e', 'sh', '-c', 'while :; do date; sleep 1; done'], display)
    const agent = join(folder, 'meshagent')
    await copyFile(join(installation, 'node_modules/meshcentral/agents', KINDS[process.arch]?.[0] ?? ''), agent)
    await chmod(agent, 0o755)
    await writeFile(`${agent}.msh`, settings)
    start(agent, ['connect'], display)
    const { event } = await page.message(({ event: told }) => membersOf(told).action === 'nodeconnect')
    return { id: String(membersOf(event).nodeid), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** It takes a number that is free, and says which once it is there. */
async function displayOf(server: ChildProcess): Promise<string> {
  let said = ''
  server.stdio[3]?.on('data', (data: Buffer) => {
    said += String(data)
  })
  return until('a desktop', () => (server.exitCode === null ? said.endsWith('\n') && `:${said.trim()}` : ':none'))
}

async function stopped(child: ChildProcess): Promise<void> {
  const gone = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined
  endGroup(child)
  await gone
  running.delete(child)
}

function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // All of it has ended by itself.
  }
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
