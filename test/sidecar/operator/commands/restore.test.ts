import { expect } from 'chai'
import { restoreBackup } from '../../../../sidecar/operator/commands/restore.ts'
import { settingsOf } from '../../../support/read-settings.ts'

describe('The restore command', () => {
  for (const [name, database, says] of [
    [
      '--restore refuses a PostgreSQL database without showing its password',
      'postgres://mesh:h0rse-battery@db.example/mesh',
      /^(?!.*h0rse).*PostgreSQL/s,
    ],
    [
      "--restore reports the system's reason if it cannot write the database",
      '/proc/nowhere/sidecar.sqlite',
      /^Nothing was restored\. The database file cannot .*\(ENOENT: .*\/proc\/nowhere/,
    ],
  ] as const)
    it(name, async () => {
      const { done, lines } = await restoreBackup('package.json', settingsOf({ database }))
      expect(done).to.equal(false)
      expect(lines.join('\n')).to.match(says)
    })
})
