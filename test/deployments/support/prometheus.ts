import { join } from 'node:path'
import { freePort } from '../../../fixtures/free-port.ts'
import { type DebianProgram, findDebianProgram } from '../../idps/support/debian-packages.ts'
import { createFolder } from '../../support/file-folder.ts'
import { startProgram } from '../../support/started-program.ts'

export interface Prometheus {
  /** The alerts that fire now: of each its name and reason. */
  firing(): Promise<readonly { readonly name: string; readonly reason: string | undefined }[]>
  stop(): Promise<void>
}

/** Fetches it from Debian, where that was not done yet. */
export const findPrometheus = (): Promise<DebianProgram | string> => findDebianProgram('prometheus', ['prometheus'])

interface Alerts {
  readonly data: {
    readonly alerts: readonly { readonly state: string; readonly labels: Readonly<Record<string, string>> }[]
  }
}

/** Starts it: it asks `target` every 3 s, and judges by `rules` each second. */
export async function startPrometheus(
  { command, env }: DebianProgram,
  target: string,
  rules: string,
): Promise<Prometheus> {
  const { path, write, remove } = await createFolder('mesh-companion-prometheus')
  const port = await freePort()
  const config = {
    // An answer takes some seconds while the database gives none of its numbers.
    global: { scrape_interval: '3s', evaluation_interval: '1s' },
    rule_files: ['alerts.yml'],
    scrape_configs: [{ job_name: 'mesh-companion', static_configs: [{ targets: [target] }] }],
  }
  await write('alerts.yml', rules)
  const options = [
    // JSON is YAML.
    `--config.file=${await write('prometheus.yml', JSON.stringify(config))}`,
    `--storage.tsdb.path=${join(path, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]
  const { stop } = await startProgram(command, options, { env, ready: /ready to receive web requests/ })
  return {
    async firing() {
      const { data } = (await (await fetch(`http://127.0.0.1:${port}/api/v1/alerts`)).json()) as Alerts
      return data.alerts
        .filter(({ state }) => state === 'firing')
        .map(({ labels }) => ({ name: labels.alertname ?? '', reason: labels.reason }))
    },
    stop: () => stop().then(remove),
  }
}
