import { expect } from 'chai'
import { restoreBackup } from '../../../../sidecar/operator/commands/restore.ts'
import { settingsOf } from '../../../support/settings-of.ts'

describe('the restoring of a backup', () => {
  for (const [name, database, says] of [
    [
      'leaves a PostgreSQL database alone, and says nothing of its password',
      'postgres://mesh:h0rse-battery@db.example/mesh',
      /^(?!.*h0rse).*PostgreSQL/s,
    ],
    [
      'says what the system says of a place that takes nothing',
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
