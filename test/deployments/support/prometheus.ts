import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../../fixtures/free-port.ts'
import { type Unpacked, unpackPackages } from '../../idps/support/debian-packages.ts'
import { scratchFor } from '../../idps/support/scratch.ts'

export interface Prometheus {
  /** The alerts that fire now: of each its name and reason. */
  firing(): Promise<readonly { readonly name: string; readonly reason: string | undefined }[]>
  stop(): Promise<void>
}

/** Fetches it from Debian, where that was not done yet. */
export const unpackPrometheus = async (): Promise<Unpacked> =>
  unpackPackages(await scratchFor('prometheus'), ['prometheus'])

interface Alerts {
  readonly data: {
    readonly alerts: readonly { readonly state: string; readonly labels: Readonly<Record<string, string>> }[]
  }
}

/** Starts it below the folder that stands for `/`: it asks `target` every 3 s, and judges by `rules` each second. */
export async function startPrometheus(root: string, target: string, rules: string): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'mesh-companion-prometheus-'))
  const port = await freePort()
  const config = {
    // An answer takes some seconds while the database gives none of its numbers.
    global: { scrape_interval: '3s', evaluation_interval: '1s' },
    rule_files: ['alerts.yml'],
    scrape_configs: [{ job_name: 'mesh-companion', static_configs: [{ targets: [target] }] }],
  }
  await writeFile(join(folder, 'alerts.yml'), rules)
  // JSON is YAML.
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config))
  const options = [
    `--config.file=${join(folder, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]
  const child = spawn(join(root, 'usr/bin/prometheus'), options, { stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(child, 'close')
  const abandon = () => child.kill('SIGKILL')
  process.once('exit', abandon)
  let said = ''
  await Promise.race([
    new Promise<void>((resolve) => {
      child.stderr.on('data', (chunk) => {
        said += chunk
        if (said.includes('ready to receive web requests')) resolve()
      })
    }),
    ended.then((): never => {
      throw new Error(`Prometheus ended: ${said}`)
    }),
  ])
  return {
    async firing() {
      const { data } = (await (await fetch(`http://127.0.0.1:${port}/api/v1/alerts`)).json()) as Alerts
      return data.alerts
        .filter(({ state }) => state === 'firing')
        .map(({ labels }) => ({ name: labels.alertname ?? '', reason: labels.reason }))
    },
    async stop() {
      process.off('exit', abandon)
      child.kill('SIGTERM')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}
