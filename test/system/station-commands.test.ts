import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { freePort } from '../../fixtures/free-port.ts'
import { type FcmFixture, startFcm } from '../../fixtures/push/fcm.ts'
import { registration } from '../support/running-api.ts'
import { sidecarProcesses } from '../support/sidecar-processes.ts'
import { TYPESCRIPT } from '../support/typescript/options.ts'
import { until } from '../support/until.ts'

interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

function run(...args: readonly string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [...TYPESCRIPT, 'sidecar/main.ts', ...args],
      { timeout: 30_000, killSignal: 'SIGKILL' },
      (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    )
  })
}

describe('The commands that query a running sidecar', () => {
  const sidecars = sidecarProcesses()
  let fcm: FcmFixture
  before(async () => {
    fcm = await startFcm()
  })
  afterEach(() => fcm.recover())
  after(() => fcm.close())

  async function start(): Promise<string> {
    const push = { coalesceMs: 10, fcm: fcm.settings }
    const file = await sidecars.configure({ push, admin: { port: await freePort() } })
    const sidecar = sidecars.start(['--config', file])
    const answer = await sidecar.post('/v1/register', registration('N1CALL', { ackMessages: true }))
    expect(answer.status).to.equal(200)
    await sidecars.upstream.until(() => sidecars.asksFor('N1CALL-7'))
    return file
  }

  // Shows: sidecar O2.5.
  it('--stations and --station describe stations, and --notify sends a test push', async () => {
    const file = await start()
    sidecars.upstream.inject('N2CALL>APRS,TCPIP*::N1CALL-7 :Good morning{12')
    await fcm.waitFor(({ token }) => token === 'token-of-N1CALL')
    const shown = () => run('--config', file, '--station', 'n1call-7')
    await until('the push to be settled', async () => (await shown()).stdout.includes('accepted'))
    const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC`
    const { code, stdout, stderr } = await shown()
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    expect(stdout).to.match(
      new RegExp(
        [
          'N1CALL-7: 1 device, 1 message in the ring, no avatar',
          'Device 1, android: token …N1CALL is alive, wants acks',
          `  registered ${time}, last heartbeat \\d+ s ago`,
          `  last push ${time}: accepted; 0 pending`,
          'Messages, newest first:',
          `  ${time} from N2CALL to N1CALL-7, number 12, acknowledged ${time}, stamp \\d{13}`,
          '',
        ].join('\\n'),
      ),
    )
    expect(await run('--config', file, '--stations')).to.satisfy(
      (listed: Outcome) =>
        listed.code === 0 &&
        /^N1CALL-7 {3}1 device, last heartbeat \d+ s ago, 0 pending notifications\n$/.test(listed.stdout),
    )
    expect(await run('--config', file, '--notify', 'N1CALL-7', '--text', 'Is this on?')).to.deep.equal({
      code: 0,
      stdout: 'Device 1, android: accepted\n',
      stderr: '',
    })
    expect(fcm.received.at(-1)?.notification).to.include({ body: 'Is this on?' })
  })

  it('commands exit with 0 if the reader of their output closes the pipe early', async () => {
    const file = await start()
    for (const args of [['--station', 'N1CALL-7'], ['--stations'], ['--check']]) {
      const child = spawn(process.execPath, [...TYPESCRIPT, 'sidecar/main.ts', '--config', file, ...args])
      child.stdout.destroy()
      const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
      expect({ code, stderr }, args.join(' ')).to.deep.equal({ code: 0, stderr: '' })
    }
  })

  // Shows: sidecar O2.5.
  it('exit codes distinguish a refused request, no sidecar and a wrong configuration', async () => {
    const file = await start()
    fcm.uninstall('token-of-N1CALL')
    const result = await run('--config', file, '--notify', 'N1CALL-7')
    expect({ code: result.code, stderr: result.stderr }).to.deep.equal({ code: 1, stderr: '' })
    expect(result.stdout).to.match(/^Device 1, android: token_gone \(.+\)\n$/)
    expect(await run('--config', file, '--station', 'N9CALL')).to.deep.equal({
      code: 1,
      stdout: '',
      stderr: 'There is no such station.\n',
    })
    const wrong = [
      ['--station', 'N 1'],
      ['--notify', ''],
      ['--text', 'x'],
      ['--stations', '--check'],
    ]
    for (const args of wrong) expect((await run('--config', file, ...args)).code, args.join(' ')).to.equal(64)
    const bad = join(sidecars.folder.path, 'bad.json')
    await writeFile(bad, '{ "admin": { "port": "x" } }')
    expect((await run('--config', bad, '--stations')).code).to.equal(78)
    await sidecars.configure({ admin: { port: await freePort() } })
    const absent = await run('--config', file, '--stations')
    expect(absent.code).to.equal(69)
    expect(absent.stderr).to.match(
      /^No sidecar answers at http:\/\/127\.0\.0\.1:\d+ \(ECONNREFUSED\)\. Start it, or check /,
    )
    const { port, hostname } = new URL(fcm.url)
    expect(hostname).to.equal('127.0.0.1')
    await sidecars.configure({ admin: { port: Number(port) } })
    expect((await run('--config', file, '--station', 'N1CALL-7')).code).to.equal(69)
  })
})
