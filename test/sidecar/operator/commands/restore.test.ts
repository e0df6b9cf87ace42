import { expect } from 'chai'
import { settingsFrom } from '../../../../sidecar/config/reading/load-settings.ts'
import { restoreBackup } from '../../../../sidecar/operator/commands/restore.ts'

describe('the restoring of a backup', () => {
  it('leaves a PostgreSQL database alone, and says nothing of its password', async () => {
    const config = { aprsis: { callsign: 'N0CALL' }, database: 'postgres://mesh:h0rse-battery@db.example/mesh' }
    const outcome = settingsFrom(JSON.stringify(config), '/')
    if ('problems' in outcome) throw new Error('The configuration is wrong.')
    const { done, lines } = await restoreBackup('backup.sqlite', outcome.settings)
    expect(done).to.equal(false)
    expect(lines.join('\n')).to.include('PostgreSQL').and.not.include('h0rse')
  })

  it('says what the system says of a place that takes nothing', async () => {
    const config = { aprsis: { callsign: 'N0CALL' }, database: '/proc/nowhere/sidecar.sqlite' }
    const outcome = settingsFrom(JSON.stringify(config), '/')
    if ('problems' in outcome) throw new Error('The configuration is wrong.')
    const { done, lines } = await restoreBackup('package.json', outcome.settings)
    expect(done).to.equal(false)
    expect(lines.join('\n')).to.match(/^Nothing was restored\. The database file cannot .*\(ENOENT: .*\/proc\/nowhere/)
  })
})
