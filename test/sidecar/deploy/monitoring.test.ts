import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { startAprsIs } from '../../../fixtures/aprsis/server.ts'
import { startFcm } from '../../../fixtures/push/fcm.ts'
import { createLog, startSidecar } from '../../../sidecar/index.ts'
import { LABELS } from '../../../sidecar/metrics.ts'
import { writeCredentials } from '../../support/credential-files.ts'
import { createFolder } from '../../support/file-folder.ts'
import { settingsOf } from '../../support/read-settings.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { codesIn, namesIn, rowsIn, textOf } from '../docs/page.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const ALERTS = 'sidecar/deploy/alerts.yml'
const WHEN_ALERTS_COME = 'test/sidecar/deploy/alerts.yml'
const DASHBOARD = 'sidecar/deploy/grafana-dashboard.json'

/** Returns the names of our metrics in a text. */
function metricsIn(text: string): readonly string[] {
  return [...new Set(text.match(/mesh_companion_[a-z_]+/g) ?? [])]
}

/** A metric's name in the documents. */
function bare(name: string): string {
  return name.replace(/^mesh_companion_|_(bucket|sum|count)$/g, '')
}

describe('The monitoring of the sidecar', () => {
  const folder = temporaryFolder()
  let exposed: ReadonlySet<string>
  /** Labels of the metrics that have a value after the start, by name. */
  let labelled: ReadonlyMap<string, readonly string[]>

  /** Starts a sidecar with TLS, backups and a gateway, so that it exposes all metrics. */
  before(async () => {
    const { path, remove } = await createFolder('monitoring')
    const [upstream, fcm] = await Promise.all([startAprsIs(), startFcm()])
    try {
      await writeCredentials(path, { certFile: 'cert.pem', keyFile: 'key.pem' })
      const config = {
        listen: { port: 0, certFile: 'cert.pem', keyFile: 'key.pem' },
        admin: { port: 0 },
        aprsis: { host: upstream.host, port: upstream.port, callsign: 'N0CALL-10' },
        push: { fcm: fcm.settings },
        backup: { folder: 'backups' },
      }
      const sidecar = await startSidecar(settingsOf(config, path), createLog('silent'))
      const text = await (await fetch(`${sidecar.adminUrl}/metrics`)).text().finally(() => sidecar.close())
      exposed = new Set(
        [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type]) =>
          type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
        ),
      )
      labelled = new Map(
        [...text.matchAll(/^(mesh_companion_\w+)(?:\{(.*)\})? /gm)].map(([, name = '', labels = '']) => [
          bare(name),
          [...labels.matchAll(/(\w+)="/g)].map(([, label = '']) => label).filter((label) => label !== 'le'),
        ]),
      )
    } finally {
      await Promise.all([upstream.close(), fcm.close(), remove()])
    }
  })

  for (const file of [ALERTS, DASHBOARD]) {
    // Shows: sidecar O1.12.
    it(`${file} uses only metrics that the sidecar exports`, () => {
      const names = metricsIn(read(file))
      expect(names.length).to.be.above(10)
      expect(names.filter((name) => !exposed.has(name))).to.deep.equal([])
    })
  }

  // Shows: sidecar C12.12.
  it('the documents list exactly the metrics that the sidecar exports, with labels', () => {
    const page = textOf('metrics-and-alerts.md', '## Metrics')
    const rows = [...rowsIn(page, 'counter'), ...rowsIn(page, 'gauge or histogram')]
    const shown = new Map(rows.map(([name, labels]) => [codesIn(name)[0] ?? '', codesIn(labels)]))
    expect([...shown.keys()]).to.have.members([...new Set([...exposed].map(bare))])
    for (const [name, labels] of labelled) expect(shown.get(name), name).to.deep.equal(labels)
  })

  it('the documents list every reason label of the push counters', () => {
    const rows = rowsIn(textOf('metrics-and-alerts.md', '## Metrics'), 'counter')
    for (const [name, labels] of Object.entries(LABELS).filter(([name]) => name.startsWith('pushes_'))) {
      const [, , counts] = rows.find(([cell]) => cell === `\`${name}_total\``) ?? []
      expect(codesIn(counts), name).to.deep.equal('reason' in labels ? labels.reason : [])
    }
  })

  it('the alerts in the documents use only metrics that the sidecar exports', () => {
    const names = rowsIn(textOf('metrics-and-alerts.md', '## Alerts'), 'alert').flatMap(([, expression]) =>
      codesIn(expression).flatMap((code) => code.match(/\b[a-z]+(?:_[a-z]+)+\b/g) ?? []),
    )
    expect(names.length).to.be.above(8)
    expect(names.filter((name) => !exposed.has(`mesh_companion_${name}`))).to.deep.equal([])
  })

  it("alert rules match the operators' page; each has a summary and a severity", () => {
    const alerts = read(ALERTS).split('- alert: ').slice(1)
    expect(alerts.length).to.be.above(10)
    for (const alert of alerts) {
      expect(alert).to.match(/severity: (critical|warning)/)
      expect(alert)
        .to.match(/summary: \S/)
        .and.match(/description: \S/)
    }
    const named = alerts.map((alert) => /^\w+/.exec(alert)?.[0])
    expect(namesIn(textOf('metrics-and-alerts.md', '## Alerts'), 'alert')).to.have.members(named)
  })

  const promtool = process.env.PROMTOOL ?? 'promtool'
  const works = spawnSync(promtool, ['--version']).status === 0
  const whereThereIs = works ? it : it.skip
  const unless = works ? '' : ' (skipped: no promtool)'
  whereThereIs(`promtool accepts the alert rules${unless}`, () => {
    const { status, stderr } = spawnSync(promtool, ['check', 'rules', join(ROOT, ALERTS)], { encoding: 'utf8' })
    expect({ status, stderr }).to.deep.equal({ status: 0, stderr: '' })
  })

  whereThereIs(`alerts fire when the operators' page says so, not sooner${unless}`, () => {
    const { status, stdout, stderr } = spawnSync(promtool, ['test', 'rules', join(ROOT, WHEN_ALERTS_COME)], {
      encoding: 'utf8',
    })
    expect({ status, stderr }, stdout).to.deep.equal({ status: 0, stderr: '' })
  })

  whereThereIs(`Prometheus can parse each dashboard query${unless}`, async () => {
    const { panels } = JSON.parse(read(DASHBOARD)) as { panels: { targets: { expr: string }[] }[] }
    const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
    const rules = queries.map((expr, index) => ({
      record: `query_${index}`,
      expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*'),
    }))
    const file = folder.path('rules.json')
    await writeFile(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }))
    const checked = spawnSync(promtool, ['check', 'rules', file], { encoding: 'utf8' })
    expect({ status: checked.status, stderr: checked.stderr }).to.deep.equal({ status: 0, stderr: '' })
  })
})
