import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { registration } from '../support/running-api.ts'
import { sidecarProcesses } from '../support/sidecar-processes.ts'
import { TYPESCRIPT } from '../support/typescript/options.ts'

describe('The settings of a sidecar process', () => {
  const sidecars = sidecarProcesses()

  // Shows: sidecar C13.11.
  it('the sidecar starts despite unknown SIDECAR_ variables, and warns of each', async () => {
    const foreign = { SIDECAR_SERVICE_HOST: '10.0.0.1', SIDECAR_PORT: 'tcp://10.0.0.1:8080', SIDECAR_LOGLEVEL: 'debug' }
    const file = await sidecars.configure()
    const sidecar = sidecars.start(['--config', file], foreign)
    await sidecar.logged('listening')
    const warnings = sidecar.lines.filter(({ event }) => event === 'config-ignored')
    expect(warnings.map(({ level, path }) => [level, path])).to.have.deep.members([
      ['warn', 'SIDECAR_SERVICE_HOST'],
      ['warn', 'SIDECAR_PORT'],
      ['warn', 'SIDECAR_LOGLEVEL'],
    ])
    expect(warnings.find(({ path }) => path === 'SIDECAR_LOGLEVEL')?.msg).to.include('Did you mean SIDECAR_LOG_LEVEL?')

    const check = [...TYPESCRIPT, 'sidecar/main.ts', '--check', '--config', file]
    const { status, stdout } = spawnSync(process.execPath, check, {
      encoding: 'utf8',
      env: { ...process.env, SIDECAR_LOGLEVEL: 'debug' },
    })
    expect(status).to.equal(0)
    expect(stdout).to.match(/^Warning: SIDECAR_LOGLEVEL: .* Did you mean SIDECAR_LOG_LEVEL\?\n/)
    expect(stdout).to.match(/ is fine\.\n$/)
  })

  // Shows: sidecar C13.12.
  it('log level silent still logs listen addresses, and the reason of a failed start', async () => {
    const log = { level: 'silent' }
    const sidecar = sidecars.start(['--config', await sidecars.configure({ log })])
    const { url, adminUrl } = await sidecar.logged('listening')
    expect([url, adminUrl].every((address) => /^http:\/\/127\.0\.0\.1:\d+$/.test(String(address)))).to.equal(true)
    const failed = sidecars.start(['--config', await sidecars.configure({ log, database: '.' })])
    expect(await failed.ended).to.deep.equal({ outcome: 1, stderr: '' })
    expect(failed.lines.map(({ level, event }) => [level, event])).to.deep.equal([['error', 'start-failed']])
  })

  // Shows: sidecar C13.5, C13.7.
  it('SIGHUP applies callsign lists, warns of other changes, and ignores a bad file', async () => {
    const file = await sidecars.configure()
    const sidecar = sidecars.start(['--config', file])
    const register = async (callsign: string) =>
      (await sidecar.post('/v1/register', registration(callsign, { ackMessages: true }))).status
    for (const callsign of ['N1CALL', 'N2CALL']) expect(await register(callsign)).to.equal(200)
    await sidecars.upstream.until(() => sidecars.asksFor('N1CALL-7') && sidecars.asksFor('N2CALL-7'))

    const lists = { reserved: ['N2CALL-*', 'N3CALL*'], blockedSenders: ['PEST'] }
    await sidecars.configure({ stations: lists })
    sidecar.kill('SIGHUP')
    expect(await sidecar.logged('call-lists-changed')).to.include({ reserved: 2, blockedSenders: 1 })
    expect(await sidecar.logged('stations-reserved')).to.deep.include({ level: 'warn', stations: ['N2CALL-7'] })
    await sidecars.upstream.until(() => sidecars.asksFor('N1CALL-7') && !sidecars.asksFor('N2CALL-7'))
    expect(await Promise.all(['N1CALL', 'N2CALL', 'N3CALL'].map(register))).to.deep.equal([200, 403, 403])
    // A member that needs a restart gives a warning; a reloaded one gives none.
    await sidecars.configure({ stations: lists, rateLimit: { max: 7 }, listen: { port: 0, trustProxy: ['192.0.2.1'] } })
    sidecar.kill('SIGHUP')
    expect(await sidecar.logged('config-needs-restart')).to.deep.include({
      level: 'warn',
      paths: ['listen.trustProxy', 'rateLimit.max'],
    })
    const acks = async () => {
      for (const sender of ['PEST', 'FRIEND'])
        sidecars.upstream.inject(`${sender}>APRS,TCPIP*::N1CALL-7 :from ${sender}{1`)
      await sidecars.upstream.waitFor(({ line }) => line.includes('::FRIEND'))
      return sidecars.upstream.received.filter(({ line }) => line.includes(':ack')).map(({ line }) => line.slice(-16))
    }
    expect(await acks()).to.deep.equal(['::FRIEND   :ack1'])

    await sidecars.configure({ stations: { reserved: ['N 4 CALL'], blockedSenders: [] }, listen: { prt: 0 } })
    sidecar.kill('SIGHUP')
    await sidecar.logged('config-not-reloaded')
    expect(await register('N3CALL')).to.equal(403)
    const page = await (await fetch(await sidecar.adminUrl())).text()
    expect(page).to.include('config-not-reloaded')
    sidecar.kill('SIGTERM')
    await sidecar.ended
    const wrong = sidecar.lines.filter(({ event }) => event === 'config-not-reloaded')
    expect(wrong.map(({ level, path }) => [level, path])).to.have.deep.members([
      ['error', 'stations.reserved[0]'],
      ['error', 'listen.prt'],
    ])
    const count = (eventName: string) => sidecar.lines.filter(({ event }) => event === eventName).length
    expect(count('call-lists-changed')).to.equal(2)
    expect(count('config-needs-restart')).to.equal(1)
  })

  it('tries to connect to each address of a host name for 2.5 s', async () => {
    const telling = join(sidecars.folder.path, 'telling.cjs')
    await writeFile(
      telling,
      "process.on('exit', () => console.error(require('node:net').getDefaultAutoSelectFamilyAttemptTimeout()))",
    )
    const args = ['--require', telling, ...TYPESCRIPT, 'sidecar/main.ts', '--version']
    expect(spawnSync(process.execPath, args, { encoding: 'utf8' }).stderr).to.equal('2500\n')
  })
})
