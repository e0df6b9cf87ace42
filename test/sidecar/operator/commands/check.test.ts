import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { expect } from 'chai'
import { startAprsIs } from '../../../../fixtures/aprsis/server.ts'
import { makeClientCertificate } from '../../../../fixtures/certificate.ts'
import { systemClock } from '../../../../sidecar/clock.ts'
import { STORE_FAULTS } from '../../../../sidecar/errors.ts'
import { createLog, type Settings, startSidecar } from '../../../../sidecar/index.ts'
import { checkStart } from '../../../../sidecar/operator/commands/check.ts'
import { openSqliteStore } from '../../../../sidecar/store/sqlite/open-sqlite.ts'
import { settingsOf } from '../../../support/read-settings.ts'
import { recordedLog } from '../../../support/recorded-log.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { BROKEN_FILES, type BrokenFile } from '../../store/sqlite/broken-files.ts'
import { SETTINGS } from '../../store/sqlite/temporary-stores.ts'

const CALL = 'K1ABC-10'

describe('The --check option', () => {
  const folder = temporaryFolder()
  const warned = recordedLog('warn')
  const settings = (config: object = {}): Settings =>
    settingsOf(
      { listen: { port: 0 }, admin: { port: 0 }, aprsis: { callsign: CALL }, database: 'sidecar.sqlite', ...config },
      folder.path(),
    )

  // Shows: sidecar O1.20.
  it('--check accepts a database folder that does not exist, and does not create it', async () => {
    const { errors } = await checkStart(settings({ database: 'data/sub/sidecar.sqlite', backup: { folder: 'b' } }))
    expect(errors).to.deep.equal([])
    expect(await readdir(folder.path())).to.deep.equal([])
  })

  // Shows: sidecar C1.6, O1.19.
  it('--check gives the same warnings as a start of the sidecar', async () => {
    const upstream = await startAprsIs()
    try {
      const { host, port } = upstream
      const config = {
        listen: { host: '0.0.0.0', port: 0 },
        admin: { host: '0.0.0.0', port: 0 },
        aprsis: { callsign: CALL, host, port },
        push: { webpush: { subject: 'mailto:operator@example.org' } },
      }
      const sidecar = await startSidecar(settings(config), warned.log)
      await sidecar.close()
      const { warnings } = await checkStart(settings(config))
      expect(warned.lines.length).to.equal(5)
      expect(warnings).to.have.members(warned.shown('msg'))
    } finally {
      await upstream.close()
    }
  })

  // Shows: sidecar O1.19.
  it('--check warns if the callsign is still the one in the example', async () => {
    const { warnings } = await checkStart(settings({ aprsis: { callsign: 'N0CALL-7' } }))
    expect(warnings[0]).to.include('still the example, N0CALL-7')
    const sample = JSON.parse(await readFile('sidecar/deploy/sidecar.json', 'utf8'))
    expect(sample.aprsis.callsign).to.match(/^N0CALL-/)
    expect((await checkStart(settings())).warnings.join()).to.not.include('example')
  })

  const databases: readonly BrokenFile[] = [
    ...BROKEN_FILES,
    ['a folder', 'database_not_writable', (path) => mkdir(path)],
  ]
  // Shows: sidecar O1.18.
  for (const [name, code, make] of databases)
    it(`--check reports a database that is ${name}`, async () => {
      const settingsIn = settings()
      if (name !== 'a folder')
        await (await openSqliteStore(settingsIn.database, SETTINGS, systemClock, createLog('silent'))).close()
      await make(settingsIn.database)
      const { errors } = await checkStart(settingsIn)
      expect(errors).to.have.length(1)
      expect(errors[0])
        .to.match(/^database: /)
        .and.include(STORE_FAULTS[code].what)
    })

  // Shows: sidecar O1.18.
  it('--check reports a database path where not even root can create a file', async () => {
    await writeFile(folder.path('file'), '')
    for (const database of ['file/sidecar.sqlite', '/proc/nope/sidecar.sqlite']) {
      const { errors } = await checkStart(settings({ database }))
      expect(errors.map((error) => error.split(':')[0])).to.deep.equal(['database'])
    }
  })

  // Shows: sidecar O1.18.
  it('--check reports once that the VAPID key file cannot be created', async () => {
    await writeFile(folder.path('file'), '')
    const push = (webpush: object) => ({ push: { webpush: { subject: 'mailto:operator@example.org', ...webpush } } })
    for (const keyFile of ['file/keys.json', '/proc/nope/keys.json']) {
      const { errors } = await checkStart(settings(push({ keyFile })))
      expect(errors).to.have.length(1)
      expect(errors[0]).to.match(/^push\.webpush\.keyFile: .*keys\.json does not exist and cannot be created \(E\w+\)/)
    }
    expect((await checkStart(settings(push({ keyFile: 'keys/keys.json' })))).errors).to.deep.equal([])
    const { errors } = await checkStart(settings({ ...push({}), database: 'file/sidecar.sqlite' }))
    expect(errors.map((error) => error.split(':')[0])).to.deep.equal(['database'])
    expect(await readdir(folder.path())).to.deep.equal(['file'])
  })

  it("--check shows the system's error if listen.host is no address of this machine", async () => {
    const { errors } = await checkStart(settings({ listen: { host: '192.0.2.1', port: 0 } }))
    expect(errors.join().match(/EADDRNOTAVAIL/g)).to.have.length(1)
    expect(errors.join()).to.match(/^listen: .*Correct listen\.host/)
  })

  it('--check reports a backup folder that cannot be created', async () => {
    await writeFile(folder.path('file'), '')
    for (const place of ['file', 'file/backups', 'nowhere/backups']) {
      const { errors } = await checkStart(settings({ backup: { folder: place } }))
      expect(errors.join()).to.match(/^backup\.folder: /)
    }
  })

  it('--check warns of a certificate that has expired, but not of a valid one', async () => {
    const listen = { port: 0, certFile: 'cert.pem', keyFile: 'key.pem' }
    const warningsOf = async ({ cert, key }: { cert: string; key: string }) => {
      await writeFile(folder.path('cert.pem'), cert)
      await writeFile(folder.path('key.pem'), key)
      const { errors, warnings } = await checkStart(settings({ listen }))
      expect(errors).to.deep.equal([])
      return warnings.filter((warning) => warning.includes('expired on'))
    }
    expect(await warningsOf(await makeClientCertificate())).to.deep.equal([])
    const [warning] = await warningsOf(await makeClientCertificate({ expired: true }))
    expect(warning).to.match(/^The certificate in listen\.certFile, .* expired on \d{4}-\d\d-\d\d, /)
  })

  it('--check names the remedy for an unreachable database, and promises no retry', async () => {
    const { errors } = await checkStart(settings({ database: 'postgres://mesh@127.0.0.1:1/mesh' }))
    expect(errors).to.have.length(1)
    expect(errors[0]).to.match(
      /^database: PostgreSQL cannot be reached.*ECONNREFUSED.* this machine can reach the address in "database"\.$/,
    )
  })

  // Shows: sidecar O1.20.
  it("--check accepts a running sidecar's database and ports, and does not disturb it", async () => {
    const upstream = await startAprsIs()
    const aprsis = { callsign: CALL, host: upstream.host, port: upstream.port }
    const sidecar = await startSidecar(settings({ aprsis }), createLog('silent'))
    try {
      const port = Number(new URL(sidecar.url).port)
      const { errors, warnings } = await checkStart(settings({ aprsis, listen: { port } }))
      expect(errors).to.deep.equal([])
      expect(warnings.join('\n'))
        .to.include('database is in use')
        .and.include(
          `listen.port ${port} cannot be used now: another process uses it. That is fine if it is the sidecar`,
        )
      expect((await fetch(`${sidecar.adminUrl}/healthz`)).status).to.equal(200)
    } finally {
      await sidecar.close()
      await upstream.close()
    }
  })
})
