import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createFolder } from '../support/file-folder.ts'
import { endWithBench } from './end-with-bench.ts'
import { usageOf } from './process-usage.ts'

const PROBE = fileURLToPath(new URL('memory-probe.cjs', import.meta.url))
/** Interval of the memory probe's own reports, so long that it only reports when it is asked. */
const NEVER_MS = '2000000000'
const PROBE_PAUSE_MS = 20
const MAIN = fileURLToPath(new URL('../../dist/sidecar/main.js', import.meta.url))

/** The built sidecar in its own process, with its own database. */
export type BuiltSidecar = Awaited<ReturnType<typeof startBuiltSidecar>>

/** @param config settings that differ from the defaults; this function chooses ports and database */
export async function startBuiltSidecar(config: object) {
  if (!existsSync(MAIN)) throw new Error('There is no dist/: run `npm run build` first.')
  const folder = await createFolder('sidecar-bench')
  const product = { listen: { port: 0 }, admin: { port: 0 }, database: 'sidecar.sqlite', log: { level: 'info' } }
  const file = await folder.write('config.json', JSON.stringify({ ...product, ...config }))
  const begun = performance.now()
  const probeFile = join(folder.path, 'memory')
  const child = spawn(process.execPath, ['--expose-gc', '--require', PROBE, MAIN, '--config', file], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, MEMORY_PROBE_FILE: probeFile, MEMORY_PROBE_MS: NEVER_MS },
  })
  endWithBench(child)
  const usage = usageOf(child.pid)
  const { url, adminUrl } = await listening(child)
  const [listeningAt, startCpuMs] = [performance.now(), usage.cpuMicroseconds() / 1000]
  const end = async (signal: 'SIGTERM' | 'SIGKILL') => {
    child.kill(signal)
    await once(child, 'exit')
    await folder.remove()
  }
  return {
    url,
    adminUrl,
    /** Milliseconds from the start of the process to its log line `listening`. */
    startMs: listeningAt - begun,
    /** CPU time from the start of the process to its log line `listening`, in milliseconds. */
    startCpuMs,
    ...usage,
    /** Returns the resident memory after a garbage collection, in megabytes. */
    async collectedMegabytes() {
      child.kill('SIGUSR2')
      while (!existsSync(probeFile) || !readFileSync(probeFile, 'utf8').endsWith('\n')) await pause(PROBE_PAUSE_MS)
      const { rss } = JSON.parse(readFileSync(probeFile, 'utf8')) as { rss: number }
      rmSync(probeFile)
      return rss / 1024 / 1024
    },
    close: () => end('SIGTERM'),
    /** Kills the process, as if the machine had crashed. */
    kill: () => end('SIGKILL'),
  }
}

async function listening({ stdout }: ChildProcess): Promise<{ url: string; adminUrl: string }> {
  if (!stdout) throw new Error('The sidecar has no output to read.')
  const lines = createInterface({ input: stdout })
  for await (const line of lines) {
    if (!line.includes('"event":"listening"')) continue
    stdout.resume()
    return JSON.parse(line) as { url: string; adminUrl: string }
  }
  throw new Error('The sidecar ended before it was listening.')
}

/** Reads a counter from the operator's port. */
export function counter(sidecar: BuiltSidecar, name: string): Promise<number> {
  return gauge(sidecar, `${name}_total`)
}

/** Reads a metric without labels from the operator's port. Each call takes milliseconds of the sidecar's CPU time. */
export async function gauge({ adminUrl }: BuiltSidecar, name: string): Promise<number> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text()
  const [, value] = new RegExp(`^mesh_companion_${name} (\\d+)$`, 'm').exec(text) ?? []
  return Number(value)
}
