import { expect } from 'chai'
import { createLog, startSidecar } from '../../../../sidecar/index.ts'
import { checkStart } from '../../../../sidecar/operator/commands/check.ts'
import { freePort } from '../../../support/host-process.ts'
import { settingsOf } from '../../../support/read-settings.ts'
import { ownDatabase } from './shared-server.ts'

const SECRET = 'h0rse-battery'

describe('Sidecars on one PostgreSQL', () => {
  const suiteDatabase = ownDatabase()

  // Shows: sidecar P1.7.
  it('no page, log line or check shows the password of the database', async () => {
    const lines: string[] = []
    const aprsis = { callsign: 'N0CALL', host: '127.0.0.1', port: await freePort() }
    const settings = (database: string) => settingsOf({ listen: { port: 0 }, admin: { port: 0 }, aprsis, database })
    const url = new URL(suiteDatabase.address)
    // The server does not require a password.
    url.password = SECRET
    const { close, adminUrl } = await startSidecar(
      settings(url.href),
      createLog('debug', { write: (line) => void lines.push(line) }),
    )
    suiteDatabase.closing.push(close)
    const shown = async (path: string) => (await fetch(adminUrl + path)).text()
    expect(await shown('/')).to.include(`PostgreSQL database ${url.host}${url.pathname}.`)
    expect(await shown('/metrics')).to.match(/^mesh_companion_instances [1-9]/m)
    for (const path of ['/', '/metrics', '/readyz']) expect(await shown(path)).not.to.match(/h0rse-battery|postgres:/)
    expect(lines.join('')).not.to.include(SECRET)
    url.port = '9'
    const findings = await checkStart(settings(url.href))
    expect(findings.errors.join('')).to.match(/^database: PostgreSQL cannot be reached/)
    expect(JSON.stringify(findings)).not.to.include(SECRET)
  })
})
