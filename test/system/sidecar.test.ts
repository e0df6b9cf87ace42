import { spawn, spawnSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { type AprsIsServer, startAprsIs } from '../../fixtures/aprsis/server.ts'
import { makeCertificates } from '../../fixtures/certificate.ts'
import { startApns } from '../../fixtures/push/apns.ts'
import { startFcm } from '../../fixtures/push/fcm.ts'
import { passcodeOf } from '../../sidecar/aprs/passcode.ts'
import { claim, registration } from '../support/running-api.ts'
import {
  createSidecarFolder,
  type SidecarFolder,
  type SidecarProcess,
  startSidecarProcess,
} from '../support/sidecar-process.ts'

const callsign = 'N0CALL-10'

describe('the sidecar as a process', () => {
  let upstream: AprsIsServer
  let folder: SidecarFolder
  let running: SidecarProcess[]
  beforeEach(async () => {
    upstream = await startAprsIs()
    folder = await createSidecarFolder()
    running = []
  })
  afterEach(async () => {
    for (const sidecar of running) sidecar.kill('SIGKILL')
    await Promise.all(running.map(({ ended }) => ended))
    await Promise.all([upstream.close(), folder.remove()])
  })

  async function configure(config: object = {}) {
    const aprsis = {
      host: upstream.host,
      port: upstream.port,
      callsign,
      passcode: passcodeOf(callsign),
      filterDebounceMs: 0,
    }
    return folder.configure({ aprsis, database: 'data/sidecar.sqlite', ...config })
  }

  function start(...args: Parameters<typeof startSidecarProcess>): SidecarProcess {
    const sidecar = startSidecarProcess(...args)
    running.push(sidecar)
    return sidecar
  }

  const inFilter = (key: string) => () => upstream.clients().some(({ filter }) => `${filter}/`.includes(`/${key}/`))

  it('registers a station, receives a message for it, acknowledges and pushes it, and shows it in a sync', async () => {
    const fcm = await startFcm()
    try {
      const push = { coalesceMs: 10, fcm: fcm.settings }
      const sidecar = start(['--config', await configure({ push })])
      const { status } = await sidecar.post('/v1/register', registration('N1CALL', { ackMessages: true }))
      expect(status).to.equal(200)
      await upstream.until(inFilter('N1CALL-7'))
      upstream.inject('N2CALL>APRS,TCPIP*::N1CALL-7 :Good morning{12')

      const ack = await upstream.waitFor(({ line }) => line.includes(':ack12'))
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
    } finally {
      await fcm.close()
    }
  })

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`ends with exit code 0 on ${signal}`, async () => {
      const sidecar = start(['--config', await configure()])
      await sidecar.logged('listening')
      sidecar.kill(signal)
      expect(await sidecar.ended).to.deep.equal({ outcome: 0, stderr: '' })
      expect(sidecar.lines.at(-1)?.event).to.equal('stopped')
    })
  }

  it('ends with exit code 0 within 5 seconds while a push gateway hangs and a client holds a request open', async () => {
    const fcm = await startFcm()
    try {
      fcm.fail('hang', 10)
      const sidecar = start(['--config', await configure({ push: { coalesceMs: 0, fcm: fcm.settings } })])
      await sidecar.post('/v1/register', registration('N1CALL'))
      await upstream.until(inFilter('N1CALL-7'))
      upstream.inject('N2CALL>APRS,TCPIP*::N1CALL-7 :Good morning')
      await fcm.waitForAttempts(1)
      const { port, hostname } = new URL(await sidecar.url())
      const socket = connect(Number(port), hostname).on('error', () => {})
      socket.write('POST /v1/sync HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n')
      const asked = Date.now()
      sidecar.kill('SIGTERM')
      expect((await sidecar.ended).outcome).to.equal(0)
      expect(Date.now() - asked).to.be.lessThan(5000)
      expect(sidecar.lines.map(({ event }) => event)).to.not.include('close-failed')
    } finally {
      await fcm.close()
    }
  })

  it('pushes after a restart what it had stored but not pushed', async () => {
    const fcm = await startFcm()
    try {
      const config = (coalesceMs: number) => configure({ push: { coalesceMs, fcm: fcm.settings } })
      const first = start(['--config', await config(600_000)])
      await first.post('/v1/register', registration('N1CALL', { ackMessages: true }))
      await upstream.until(inFilter('N1CALL-7'))
      upstream.inject('N2CALL>APRS,TCPIP*::N1CALL-7 :Good morning{1')
      await upstream.waitFor(({ line }) => line.includes(':ack1'))
      first.kill('SIGTERM')
      await first.ended
      expect(fcm.received).to.deep.equal([])
      const second = start(['--config', await config(0)])
      await second.adminUrl()
      expect((await fcm.waitFor(() => true)).data).to.include({ fromCall: 'N2CALL', seqId: '1' })
    } finally {
      await fcm.close()
    }
  })

  it('serves at once while APRS-IS is out of reach, says so on /readyz, and connects when it can', async () => {
    upstream.refuseLogins = true
    const sidecar = start(['--config', await configure()])
    const ready = async () => (await fetch(`${await sidecar.adminUrl()}/readyz`)).status
    expect(await ready()).to.equal(503)
    expect((await sidecar.post('/v1/register', registration('N1CALL'))).status).to.equal(200)
    upstream.refuseLogins = false
    await upstream.until(inFilter('N1CALL-7'), 15_000)
  })

  it('lists every mistake in its configuration, ends with exit code 78 and starts nothing', async () => {
    const file = await folder.configure({ lisen: {}, aprsis: { passcode: 99999 }, log: { level: 'loud' } })
    const run = (...more: string[]) => {
      const args = ['--import', 'tsx', 'sidecar/main.ts', '--config', file, ...more]
      const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' })
      expect(status).to.equal(78)
      return stdout.trimEnd().split('\n')
    }
    const wrong = ['lisen', 'aprsis.callsign', 'aprsis.passcode', 'log.level']
    expect(run('--check').map((line) => line.slice(0, line.indexOf(':')))).to.have.members(wrong)
    const logged = run().map((line): Record<string, unknown> => JSON.parse(line))
    expect(logged.map(({ path }) => path)).to.have.members(wrong)
    expect(new Set(logged.map(({ event }) => event))).to.deep.equal(new Set(['config-invalid']))
    expect(existsSync(join(folder.path, 'data'))).to.equal(false)
    expect(upstream.traffic.connections).to.equal(0)
  })

  it('says that a good configuration is fine when asked to check it, and starts nothing', async () => {
    const args = ['--import', 'tsx', 'sidecar/main.ts', '--check', '--config', await configure()]
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    const said = stdout.trimEnd().split('\n')
    expect([status, said.at(-1), stderr]).to.deep.equal([0, `${join(folder.path, 'config.json')} is fine.`, ''])
    for (const line of said.slice(0, -1)) expect(line).to.match(/^Warning: /)
    expect(readdirSync(folder.path)).to.deep.equal(['config.json'])
    expect(upstream.traffic.connections).to.equal(0)
  })

  it('finds when asked to check what a start would stumble over, with exit code 78', async () => {
    await mkdir(join(folder.path, 'data/sidecar.sqlite'), { recursive: true })
    const args = ['--import', 'tsx', 'sidecar/main.ts', '--check', '--config', await configure()]
    const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    expect(status).to.equal(78)
    expect(stdout)
      .to.match(/^database: The database file cannot be opened for writing\./m)
      .and.not.include('is fine')
  })

  it('asks everybody when asked to check live, a verdict a line, with exit code 1 when somebody says no', async () => {
    const [fcm, apns] = await Promise.all([startFcm(), startApns()])
    try {
      const config = await configure({ push: { fcm: fcm.settings, apns: apns.settings } })
      const live = async () => {
        const child = spawn(process.execPath, [
          '--import',
          'tsx',
          'sidecar/main.ts',
          '--config',
          config,
          '--check',
          '--live',
        ])
        let stdout = ''
        child.stdout.on('data', (chunk) => {
          stdout += chunk
        })
        const [code] = await once(child, 'close')
        return { code, verdicts: stdout.split('\n').filter((line) => /^(ok|warn|fail) /.test(line)) }
      }
      const good = await live()
      expect([good.code, good.verdicts]).to.deep.equal([
        0,
        [
          'ok   APRS-IS login as N0CALL-16 at T2FIX: verified',
          'ok   APRS-IS filter at T2FIX: confirmed',
          'ok   FCM: takes our credentials',
          'ok   APNs: takes our credentials',
          'warn Web Push: off, not configured',
        ],
      ])
      apns.fail({ status: 403, reason: 'InvalidProviderToken' })
      const bad = await live()
      expect(bad.code).to.equal(1)
      expect(bad.verdicts.find((line) => line.includes('APNs'))).to.match(
        /^fail APNs: InvalidProviderToken: push\.apns\.keyFile/,
      )
    } finally {
      await Promise.all([fcm.close(), apns.close()])
    }
  }).timeout(60_000)

  it('backs its database up while it runs, and goes back to that with --restore, once it is stopped', async () => {
    const config = await configure({ backup: { folder: 'backups', keep: 2 } })
    const restore = (backup: string) => {
      const args = ['--import', 'tsx', 'sidecar/main.ts', '--config', config, '--restore', backup]
      return spawnSync(process.execPath, args, { encoding: 'utf8' })
    }
    const receive = async (sidecar: SidecarProcess, text: string) => {
      upstream.inject(`N2CALL>APRS,TCPIP*::N1CALL-7 :${text}{${text}`)
      for (;;) if ((await messages(sidecar)).includes(text)) return
    }
    const messages = async (sidecar: SidecarProcess, since = 0) =>
      (await sidecar.post('/v1/sync', { ...claim('N1CALL'), since })).body.messages.map(({ text }) => text)

    const first = start(['--config', config])
    await first.post('/v1/register', registration('N1CALL'))
    await upstream.until(inFilter('N1CALL-7'))
    await receive(first, 'one')
    const made = await fetch(`${await first.adminUrl()}/backup`, { method: 'POST' })
    const { file, bytes } = (await made.json()) as { file: string; bytes: number }
    expect([made.status, bytes > 0]).to.deep.equal([200, true])
    const backup = join(folder.path, 'backups', file)
    await receive(first, 'two')
    const { serverTime } = (await first.post('/v1/sync', { ...claim('N1CALL'), since: 0 })).body
    const refused = restore(backup)
    expect(refused.status).to.equal(1)
    expect(refused.stderr).to.include('Another process has the database open.')
    first.kill('SIGTERM')
    await first.ended

    const restored = restore(backup)
    expect([restored.status, restored.stderr]).to.deep.equal([0, ''])
    expect(restored.stdout).to.include('stations 1, messages 1').and.include('before-restore')
    const second = start(['--config', config])
    expect(await messages(second)).to.deep.equal(['one'])
    await upstream.until(inFilter('N1CALL-7'))
    await receive(second, 'three')
    expect(await messages(second, serverTime)).to.deep.equal(['three'])
  }).timeout(60_000)

  it('tells its version', async () => {
    const { version } = JSON.parse(await readFile('package.json', 'utf8'))
    for (const main of ['sidecar/main.ts', 'plugin/check.ts']) {
      const { status, stdout } = spawnSync(process.execPath, ['--import', 'tsx', main, '--version'], {
        encoding: 'utf8',
      })
      expect([status, stdout]).to.deep.equal([0, `${version}\n`])
    }
  })

  it('explains its command line where that is wrong', async () => {
    const { outcome, stderr } = await start(['--confg', 'x']).ended
    expect([outcome, stderr.includes('Usage: ')]).to.deep.equal([64, true])
  })

  it('ends with exit code 1 and says why when its port is taken, leaving the database to the next', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    try {
      await new Promise((resolve) => taken.once('listening', resolve))
      const { port } = taken.address() as { port: number }
      const failed = start(['--config', await configure({ listen: { port } })])
      expect((await failed.ended).outcome).to.equal(1)
      const line = await failed.logged('start-failed')
      expect(line.error).to.include({ code: 'EADDRINUSE' })
      expect(line.remedy).to.match(/listen\.port/)
      expect(upstream.traffic.connections).to.equal(0)
    } finally {
      taken.close()
    }
    await start(['--config', await configure()]).logged('listening')
  })

  it('takes up a renewed certificate on SIGHUP, with the connections that it has', async () => {
    const renew = async () => {
      const { server } = await makeCertificates()
      await writeFile(join(folder.path, 'cert.pem'), server.cert)
      await writeFile(join(folder.path, 'key.pem'), server.key)
      return new X509Certificate(server.cert).fingerprint256
    }
    const first = await renew()
    const listen = { port: 0, certFile: 'cert.pem', keyFile: 'key.pem' }
    const sidecar = start(['--config', await configure({ listen })])
    const { port, hostname } = new URL(await sidecar.url())
    const secured = async () => {
      const socket = connectTls({ port: Number(port), host: hostname, rejectUnauthorized: false }).on('error', () => {})
      await once(socket, 'secureConnect')
      return socket
    }
    const before = await secured()
    expect(before.getPeerCertificate().fingerprint256).to.equal(first)
    const second = await renew()
    sidecar.kill('SIGHUP')
    await sidecar.logged('tls-reloaded')
    const after = await secured()
    expect(after.getPeerCertificate().fingerprint256).to.equal(second)
    before.write('POST /v1/sync HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n')
    expect(String((await once(before, 'data'))[0])).to.match(/^HTTP\/1.1 415 /)
    for (const socket of [before, after]) socket.destroy()
  })

  it('goes on when it gets SIGHUP without TLS', async () => {
    const sidecar = start(['--config', await configure()])
    await sidecar.logged('listening')
    sidecar.kill('SIGHUP')
    expect((await sidecar.post('/v1/register', registration('N1CALL'))).status).to.equal(200)
    sidecar.kill('SIGTERM')
    expect(await sidecar.ended).to.deep.equal({ outcome: 0, stderr: '' })
  })

  it('warns once of each thing that its configuration leaves off', async () => {
    const aprsis = { host: upstream.host, port: upstream.port, callsign }
    const sidecar = start(['--config', await configure({ aprsis })])
    await sidecar.logged('listening')
    const warnings = sidecar.lines
      .filter(({ level }) => level === 'warn')
      .map(({ event, platform }) => [event, platform])
    expect(warnings).to.deep.equal([
      ['push-gateway-off', 'android'],
      ['push-gateway-off', 'ios'],
      ['push-gateway-off', 'webpush'],
      ['upstream-receive-only', undefined],
    ])
  })

  it('loses no message that a sync had shown or an ack had confirmed when it is killed in a burst', async () => {
    const stations = Array.from({ length: 8 }, (_, index) => `N${index}CALL`)
    const config = await configure({
      history: { perStation: 10_000 },
      rateLimit: { max: 1_000_000 },
      ack: { maxPerSenderPerMinute: 1000 },
    })
    const first = start(['--config', config])
    for (const station of stations)
      expect((await first.post('/v1/register', registration(station, { ackMessages: true }))).status).to.equal(200)
    await upstream.until(() => stations.every((station) => inFilter(`${station}-7`)()))

    const shown = new Set<string>()
    let alive = true
    const cursors = new Map<string, number>()
    const syncing = stations.map(async (station) => {
      while (alive) {
        const since = cursors.get(station) ?? 0
        const answer = await first.post('/v1/sync', { ...claim(station), since }).catch(() => undefined)
        if (!answer) return
        for (const { seqId, to } of answer.body.messages) shown.add(`${to} ${seqId}`)
        cursors.set(station, answer.body.serverTime)
      }
    })
    const injecting = (async () => {
      for (let count = 0; alive && count < 50_000; count++) {
        const to = `${stations[count % stations.length]}-7`.padEnd(9)
        upstream.inject(`S${count % 97}>APRS,TCPIP*::${to}:burst message ${count}{${count.toString(36)}`)
        if (count % 20 === 0) await new Promise((resolve) => setImmediate(resolve))
      }
    })()
    await upstream.until(() => upstream.received.length > 500 && shown.size > 200, 15_000)
    first.kill('SIGKILL')
    expect((await first.ended).outcome).to.equal('SIGKILL')
    alive = false
    await Promise.all([...syncing, injecting])

    const acked = upstream.received.flatMap(({ line }) => {
      const match = /^(\S+)>APRS,TCPIP\*::\S+ *:ack(\w+)$/.exec(line)
      return match ? [`${match[1]} ${match[2]}`] : []
    })
    expect(acked.length).to.be.greaterThan(500)
    const second = start(['--config', config])
    const kept = new Set<string>()
    for (const station of stations) {
      const { body } = await second.post('/v1/sync', { ...claim(station), since: 0 })
      const times = body.messages.map(({ time }) => Number(time))
      expect(times).to.deep.equal([...new Set(times)].sort((one, other) => one - other))
      expect(body.serverTime).to.be.greaterThan(cursors.get(station) ?? 0)
      for (const { seqId, to } of body.messages) {
        expect(kept.has(`${to} ${seqId}`)).to.equal(false)
        kept.add(`${to} ${seqId}`)
      }
    }
    expect([...shown, ...acked].filter((message) => !kept.has(message))).to.deep.equal([])
  })

  it('keeps the logging convention on every line, at the most talkative level', async () => {
    const schema = JSON.parse(await readFile('fixtures/log-line.schema.json', 'utf8'))
    const holds = new Ajv2020({ allowUnionTypes: true, strict: false }).compile(schema)
    const sidecar = start(['--config', await configure({ log: { level: 'debug' } })])
    await sidecar.post('/v1/register', registration('N1CALL', { pushToken: 'very-secret-token' }))
    await upstream.until(inFilter('N1CALL-7'))
    upstream.inject('N2CALL>APRS,TCPIP*::N1CALL-7 :Good morning{1')
    await sidecar.post('/v1/sync', { ...claim('N1CALL'), since: 0 })
    upstream.dropAll()
    await sidecar.logged('upstream-down')
    sidecar.kill('SIGTERM')
    await sidecar.ended
    expect(sidecar.lines.length).to.be.greaterThan(5)
    for (const line of sidecar.lines) expect(holds(line), JSON.stringify([line, holds.errors])).to.equal(true)
    const text = JSON.stringify(sidecar.lines)
    expect(text)
      .to.not.include('very-secret-token')
      .and.not.include(String(passcodeOf(callsign)))
  })
})
