import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { freePort } from '../../fixtures/free-port.ts'
import { type FcmFixture, startFcm } from '../../fixtures/push/fcm.ts'
import { section } from '../support/documents.ts'
import { claim, registration } from '../support/running-api.ts'
import type { SidecarProcess } from '../support/sidecar-process.ts'
import { sidecarProcesses } from '../support/sidecar-processes.ts'
import { TYPESCRIPT } from '../support/typescript/options.ts'
import { until } from '../support/until.ts'

const PAGE = readFileSync(new URL('../../sidecar/docs/troubleshooting.md', import.meta.url), 'utf8')
/** The outputs on the page, by the names in the comments above them. */
const OUTPUTS = new Map(
  [...section(PAGE, '### A phone shows nothing').matchAll(/^<!-- output: (\w+) -->\n```text\n([\s\S]*?)^```$/gm)].map(
    ([, name = '', text = '']) => [name, text],
  ),
)

/** Replaces what differs between two runs: times, durations, stamps and the port. */
function comparable(text: string): string {
  return text
    .replaceAll(/\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{3}Z)?/g, 'TIME')
    .replaceAll(/last heartbeat .* ago/g, 'last heartbeat AGO')
    .replaceAll(/\b\d{13}\b/g, 'STAMP')
    .replaceAll(/127\.0\.0\.1:\d+/g, 'ADMIN')
}

function expectOutput(name: string, actual: string): void {
  expect(comparable(actual), name).to.equal(comparable(OUTPUTS.get(name) ?? ''))
}

describe('The troubleshooting section "A phone shows nothing"', () => {
  const sidecars = sidecarProcesses()
  let fcm: FcmFixture
  before(async () => {
    fcm = await startFcm()
  })
  after(() => fcm.close())

  let file: string
  const command = (...args: readonly string[]): Promise<string> =>
    new Promise((resolve) => {
      const all = [...TYPESCRIPT, 'sidecar/main.ts', '--config', file, ...args]
      execFile(process.execPath, all, { timeout: 30_000 }, (_error, stdout, stderr) => resolve(stdout + stderr))
    })
  const configure = async (admin: number, level: string) => {
    file = await sidecars.configure({
      push: { coalesceMs: 10, fcm: fcm.settings },
      admin: { port: admin },
      log: { level },
    })
  }
  const eventsOf = ({ lines }: SidecarProcess) => lines.filter(({ event }) => String(event).startsWith('message-'))

  // Shows: sidecar O2.6, O2.7.
  it('the section "A phone shows nothing" quotes real outputs and logs', async () => {
    const admin = await freePort()
    await configure(admin, 'info')
    expectOutput('absent', await command('--stations'))
    const sidecar = sidecars.start(['--config', file])
    expect((await sidecar.post('/v1/register', registration('N1CALL', { ackMessages: true }))).status).to.equal(200)
    await sidecars.upstream.until(() => sidecars.asksFor('N1CALL-7'))
    expectOutput('unknown', await command('--station', 'N9CALL'))

    await configure(admin, 'debug')
    sidecar.kill('SIGHUP')
    await sidecar.post('/v1/register', registration('N3CALL'))
    await sidecars.upstream.until(() => sidecars.asksFor('N3CALL-7'))
    sidecars.upstream.inject('N2CALL>APRS,TCPIP*::N1CALL-7 :Good morning{12')
    await sidecar.logged('message-pushed')
    await sidecar.post('/v1/sync', { ...claim('N1CALL'), since: 0 })
    await sidecar.logged('message-fetched')
    const logged = eventsOf(sidecar).map((line) => `${JSON.stringify(line)}\n`)
    expectOutput('log', logged.join(''))
    expect(sidecar.lines.map(({ event }) => event)).not.to.include('config-needs-restart')

    const station = () => command('--station', 'N1CALL-7')
    await until('the push to be settled', async () => (await station()).includes('accepted'))
    expectOutput('station', await station())
    expectOutput('notify', await command('--notify', 'N1CALL-7', '--text', 'Is this on?'))
    fcm.uninstall('token-of-N1CALL')
    expectOutput('gone', await command('--notify', 'N1CALL-7'))
    expectOutput('dead', `${(await station()).split('\n')[1]}\n`)
  }).timeout(120_000)
})
