import { spawn, spawnSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { startApns } from '../../fixtures/push/apns.ts'
import { type FcmFixture, startFcm } from '../../fixtures/push/fcm.ts'
import { passcodeOf } from '../../sidecar/aprs/passcode.ts'
import { writeCredentials } from '../support/credential-files.ts'
import { onLoopback } from '../support/on-loopback.ts'
import { claim, registration } from '../support/running-api.ts'
import type { SidecarProcess } from '../support/sidecar-process.ts'
import { LOGIN, sidecarProcesses } from '../support/sidecar-processes.ts'
import { TYPESCRIPT } from '../support/typescript/options.ts'
import { until } from '../support/until.ts'

const MAIN = [...TYPESCRIPT, 'sidecar/main.ts']
/** Runs the sidecar's command until it ends. */
const run = (...args: readonly string[]) => spawnSync(process.execPath, [...MAIN, ...args], { encoding: 'utf8' })

describe('The sidecar as a process', () => {
  const sidecars = sidecarProcesses()
  let fcm: FcmFixture
  before(async () => {
    fcm = await startFcm()
  })
  afterEach(() => fcm.recover())
  after(() => fcm.close())

  // Shows: sidecar 1.1, 3.5, 11.16, 17.1, C4.12, C6.1, C6.4, F1.10.
  it('the sidecar registers a station, and stores, acknowledges and pushes its message', async () => {
    const push = { coalesceMs: 10, fcm: fcm.settings }
    const sidecar = sidecars.start(['--config', await sidecars.configure({ push, log: { level: 'debug' } })])
    const { status } = await sidecar.post('/v1/register', registration('N1CALL', { ackMessages: true }))
    expect(status).to.equal(200)
    await sidecars.upstream.until(() => sidecars.asksFor('N1CALL-7'))
    sidecars.upstream.inject('N2CALL>APRS,TCPIP*::N1CALL-7 :Good morning{12')

    const ack = await sidecars.upstream.waitFor(({ line }) => line.includes(':ack12'))
    expect(ack.line).to.equal('N1CALL-7>APRS,TCPIP*::N2CALL   :ack12')
    const { body } = await sidecar.post('/v1/sync', { ...claim('N1CALL'), since: 0 })
    expect(body.messages.map(({ time, ...message }) => message)).to.deep.equal([
      { from: 'N2CALL', to: 'N1CALL-7', seqId: '12', text: 'Good morning' },
    ])
    const pushed = await fcm.waitFor(({ token }) => token === 'token-of-N1CALL')
    expect(pushed.data).to.include({ fromCall: 'N2CALL', to: 'N1CALL-7', seqId: '12', count: '1' })

    const admin = await sidecar.adminUrl()
    expect((await fetch(`${admin}/healthz`)).status).to.equal(200)
    expect((await fetch(`${admin}/readyz`)).status).to.equal(200)
    const metrics = await (await fetch(`${admin}/metrics`)).text()
    expect(metrics).to.include('mesh_companion_messages_stored_total 1\n')
    expect(metrics).to.include('mesh_companion_stations_android 1\n')
    sidecars.upstream.dropAll()
    await sidecar.logged('upstream-down')
    await endsWell(sidecar, 'SIGTERM')
    await keepsConvention(sidecar, 'token-of-N1CALL', String(passcodeOf(LOGIN)))
  })

  /** Every line is as the logging convention has it, and none holds a secret. */
  async function keepsConvention({ lines }: SidecarProcess, ...secrets: readonly string[]) {
    const schema = JSON.parse(await readFile('fixtures/log-line.schema.json', 'utf8'))
    const holds = new Ajv2020({ allowUnionTypes: true, strict: false }).compile(schema)
    expect(lines.length).to.be.greaterThan(5)
    for (const line of lines) expect(holds(line), JSON.stringify([line, holds.errors])).to.equal(true)
    for (const secret of secrets) expect(JSON.stringify(lines)).to.not.include(secret)
  }
  async function endsWell(sidecar: SidecarProcess, signal: 'SIGTERM' | 'SIGINT') {
    sidecar.kill(signal)
    expect(await sidecar.ended).to.deep.equal({ outcome: 0, stderr: '' })
    expect(sidecar.lines.at(-1)?.event).to.equal('stopped')
  }

  // Shows: sidecar C6.2.
  it("the sidecar exits with 0 while a push gateway and a client's request hang", async () => {
    fcm.fail('hang', 10)
    const attempts = fcm.attempts
    const sidecar = sidecars.start([
      '--config',
      await sidecars.configure({ push: { coalesceMs: 0, fcm: fcm.settings } }),
    ])
    await sidecar.post('/v1/register', registration('N1CALL'))
    await sidecars.upstream.until(() => sidecars.asksFor('N1CALL-7'))
    sidecars.upstream.inject('N2CALL>APRS,TCPIP*::N1CALL-7 :Good morning')
    await fcm.waitForAttempts(attempts + 1)
    const { port, hostname } = new URL(await sidecar.url())
    const socket = connect(Number(port), hostname).on('error', () => {})
    socket.write('POST /v1/sync HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n')
    sidecar.kill('SIGTERM')
    expect((await sidecar.ended).outcome).to.equal(0)
    expect(sidecar.lines.map(({ event }) => event)).to.not.include('close-failed')
  })

  // Shows: sidecar C7.16.
  it('the sidecar serves clients while APRS-IS is unreachable, and connects later', async () => {
    sidecars.upstream.refuseLogins = true
    const sidecar = sidecars.start(['--config', await sidecars.configure()])
    const ready = async () => (await fetch(`${await sidecar.adminUrl()}/readyz`)).status
    expect(await ready()).to.equal(503)
    expect((await sidecar.post('/v1/register', registration('N1CALL'))).status).to.equal(200)
    sidecars.upstream.refuseLogins = false
    await sidecars.upstream.until(() => sidecars.asksFor('N1CALL-7'), 15_000)
  })

  // Shows: sidecar C1.25, C6.3.
  it('the sidecar reports every configuration mistake and exits with 78', async () => {
    const file = await sidecars.folder.configure({ lisen: {}, aprsis: { passcode: 99999 }, log: { level: 'loud' } })
    const linesOf = (...more: string[]) => {
      const { status, stdout } = run('--config', file, ...more)
      expect(status).to.equal(78)
      return stdout.trimEnd().split('\n')
    }
    const wrong = ['lisen', 'aprsis.callsign', 'aprsis.passcode', 'log.level']
    for (const command of [['--check'], ['--restore', 'backup.sqlite'], ['--move-to', 'postgres://mesh@db/mesh']])
      expect(linesOf(...command).map((line) => line.slice(0, line.indexOf(':')))).to.have.members(wrong)
    const logged = linesOf().map((line): Record<string, unknown> => JSON.parse(line))
    expect(logged.map(({ path }) => path)).to.have.members(wrong)
    expect(new Set(logged.map(({ event }) => event))).to.deep.equal(new Set(['config-invalid']))
    expect(existsSync(join(sidecars.folder.path, 'data'))).to.equal(false)

    const { status, stdout, stderr } = run('--check', '--config', await sidecars.configure())
    const lines = stdout.trimEnd().split('\n')
    expect({ status, stderr }).to.deep.equal({ status: 0, stderr: '' })
    expect(lines.at(-1)).to.equal(`${file} is fine.`)
    for (const line of lines.slice(0, -1)) expect(line).to.match(/^Warning: /)
    expect(readdirSync(sidecars.folder.path)).to.deep.equal(['config.json'])
    // An obstacle for a start.
    await mkdir(join(sidecars.folder.path, 'data/sidecar.sqlite'), { recursive: true })
    const refused = run('--check', '--config', file)
    expect(refused.status).to.equal(78)
    expect(refused.stdout).to.match(/^database: The database file cannot be opened for writing\./m)
    expect(sidecars.upstream.traffic.connections).to.equal(0)
  })

  // Shows: sidecar O1.21.
  it('--check --live prints a verdict for each server, and exits with 1 if one refuses', async () => {
    const apns = await startApns()
    try {
      const config = await sidecars.configure({ push: { fcm: fcm.settings, apns: apns.settings } })
      const live = async () => {
        const child = spawn(process.execPath, [...MAIN, '--config', config, '--check', '--live'])
        let stdout = ''
        child.stdout.on('data', (chunk) => {
          stdout += chunk
        })
        const [code] = await once(child, 'close')
        return { code, verdicts: stdout.split('\n').filter((line) => /^(ok|warn|fail) /.test(line)) }
      }
      const good = await live()
      expect(good.code).to.equal(0)
      expect(good.verdicts).to.have.length(5)
      expect(good.verdicts[0]).to.equal('ok   APRS-IS login as N0CALL-16 at T2FIX: verified')
      apns.fail({ status: 403, reason: 'InvalidProviderToken' })
      const bad = await live()
      expect(bad.code).to.equal(1)
      expect(bad.verdicts.find((line) => line.includes('APNs'))).to.match(
        /^fail APNs: InvalidProviderToken: check this machine's clock first .*push\.apns\.keyFile/,
      )
    } finally {
      await apns.close()
    }
  })

  // Shows: sidecar O1.15.
  it('a running sidecar can be backed up, and a stopped one restored with --restore', async () => {
    const config = await sidecars.configure({ backup: { folder: 'backups', keep: 2 } })
    const restore = (backup: string) => run('--config', config, '--restore', backup)
    const receive = async (sidecar: SidecarProcess, text: string) => {
      sidecars.upstream.inject(`N2CALL>APRS,TCPIP*::N1CALL-7 :${text}{${text}`)
      await until(`the message ${text}`, async () => (await messages(sidecar)).includes(text))
    }
    const messages = async (sidecar: SidecarProcess, since = 0) =>
      (await sidecar.post('/v1/sync', { ...claim('N1CALL'), since })).body.messages.map(({ text }) => text)

    const first = sidecars.start(['--config', config])
    await first.post('/v1/register', registration('N1CALL'))
    await sidecars.upstream.until(() => sidecars.asksFor('N1CALL-7'))
    await receive(first, 'one')
    const backUpAnswer = await fetch(`${await first.adminUrl()}/backup`, { method: 'POST' })
    const { file, bytes } = (await backUpAnswer.json()) as { file: string; bytes: number }
    expect(backUpAnswer.status).to.equal(200)
    expect(bytes).to.be.above(0)
    const backup = join(sidecars.folder.path, 'backups', file)
    await receive(first, 'two')
    const { serverTime } = (await first.post('/v1/sync', { ...claim('N1CALL'), since: 0 })).body
    const refused = restore(backup)
    expect(refused.status).to.equal(1)
    expect(refused.stderr).to.include('Another process has opened the database file.')
    first.kill('SIGTERM')
    await first.ended

    const restored = restore(backup)
    expect(restored).to.include({ status: 0, stderr: '' })
    expect(restored.stdout).to.include('stations 1, messages 1').and.include('before-restore')
    const second = sidecars.start(['--config', config])
    expect(await messages(second)).to.deep.equal(['one'])
    await sidecars.upstream.until(() => sidecars.asksFor('N1CALL-7'))
    await receive(second, 'three')
    expect(await messages(second, serverTime)).to.deep.equal(['three'])
  })

  // Shows: sidecar C1.29.
  it('the sidecar exits with 1 and the reason if its port is taken', async () => {
    const { port, close } = await onLoopback(createServer())
    try {
      const failed = sidecars.start(['--config', await sidecars.configure({ listen: { port } })])
      expect((await failed.ended).outcome).to.equal(1)
      const line = await failed.logged('start-failed')
      expect(line.error).to.include({ code: 'EADDRINUSE' })
      expect(line.remedy).to.match(/listen\.port/)
      expect(sidecars.upstream.traffic.connections).to.equal(0)
    } finally {
      await close()
    }
    await sidecars.start(['--config', await sidecars.configure()]).logged('listening')
  })

  // Shows: sidecar 2.18, C1.22, C10.1.
  it("SIGHUP loads a renewed certificate, and keeps the sidecar's connections", async () => {
    const renew = async () => {
      await writeCredentials(sidecars.folder.path, { certFile: 'cert.pem', keyFile: 'key.pem' })
      return new X509Certificate(await readFile(join(sidecars.folder.path, 'cert.pem'))).fingerprint256
    }
    const first = await renew()
    const listen = { port: 0, certFile: 'cert.pem', keyFile: 'key.pem' }
    const sidecar = sidecars.start(['--config', await sidecars.configure({ listen })])
    const { port, hostname } = new URL(await sidecar.url())
    const secured = async () => {
      const socket = connectTls({ port: Number(port), host: hostname, rejectUnauthorized: false }).on('error', () => {})
      await once(socket, 'secureConnect')
      return socket
    }
    const earlierSocket = await secured()
    expect(earlierSocket.getPeerCertificate().fingerprint256).to.equal(first)
    const second = await renew()
    sidecar.kill('SIGHUP')
    await sidecar.logged('tls-reloaded')
    const newSocket = await secured()
    expect(newSocket.getPeerCertificate().fingerprint256).to.equal(second)
    earlierSocket.write('POST /v1/sync HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n')
    expect(String((await once(earlierSocket, 'data'))[0])).to.match(/^HTTP\/1.1 415 /)
    for (const socket of [earlierSocket, newSocket]) socket.destroy()
  })

  // Shows: sidecar C6.2, C10.1.
  it('the sidecar without TLS keeps running on SIGHUP, and exits on SIGTERM and SIGINT', async () => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const sidecar = sidecars.start(['--config', await sidecars.configure()])
      await sidecar.logged('listening')
      sidecar.kill('SIGHUP')
      expect((await sidecar.post('/v1/register', registration('N1CALL'))).status).to.equal(200)
      await endsWell(sidecar, signal)
    }
  })
})
