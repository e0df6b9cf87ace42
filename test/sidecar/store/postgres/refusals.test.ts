import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { systemClock } from '../../../../sidecar/clock.ts'
import { createLog } from '../../../../sidecar/log.ts'
import { checkStart } from '../../../../sidecar/operator/commands/check.ts'
import { openPostgresStore } from '../../../../sidecar/store/postgres/open-postgres.ts'
import { type Postgres, startPostgres } from '../../../support/postgres.ts'
import { settingsOf } from '../../../support/read-settings.ts'
import { rejection, SETTINGS } from '../sqlite/temporary-stores.ts'
import { runAt } from './shared-server.ts'

/** Access rules; their order counts. */
const HBA = `
host all barred  127.0.0.1/32 reject
host all guest   127.0.0.1/32 scram-sha-256
host all unknown 127.0.0.1/32 scram-sha-256
host all all     127.0.0.1/32 trust
`

// Name of the case, user and password, database, error code, and a pattern of the text for the operator.
const REFUSALS = [
  ['a missing password', 'guest', 'postgres', 'database_password_missing', /has none\. Set PGPASSWORD .*database\.env/],
  ['a wrong password', 'guest:wrong', 'postgres', 'database_password_wrong', /and the password in PGPASSWORD/],
  [
    'an unknown user with a password',
    'unknown:x',
    'postgres',
    'database_password_wrong',
    /Correct the user in "database"/,
  ],
  ['an unknown user without a password', 'nobody_known', 'postgres', 'database_role_missing', /CREATE ROLE/],
  ['a missing database', 'guest:right', 'gone', 'database_missing', /CREATE DATABASE/],
  ['a missing right to create a schema', 'guest:right', 'postgres', 'database_right_missing', /GRANT CREATE ON/],
  ['a pg_hba.conf that bars the user', 'barred', 'postgres', 'database_refused', /pg_hba\.conf/],
] as const

describe('A sidecar that PostgreSQL refuses', function () {
  this.timeout(120_000)
  let server: Postgres

  before(async () => {
    server = await startPostgres()
    await runAt(server.address, "CREATE ROLE guest LOGIN PASSWORD 'right'; CREATE ROLE barred LOGIN")
    await writeFile(join(server.data, 'pg_hba.conf'), HBA)
    await runAt(server.address, 'SELECT pg_reload_conf()')
  })
  after(() => server.stop())

  // Shows: sidecar P1.18.
  for (const [how, user, database, code, words] of REFUSALS)
    it(`start and --check report ${how}`, async () => {
      const address = server.address.replace('mesh@', `${user}@`).replace(/[^/]*$/, database)
      const settings = { ...SETTINGS, database: address, databaseTls: { caFile: null } }
      const error = await rejection(openPostgresStore(settings, systemClock, createLog('silent')))
      // A start creates database objects. `--check` only asks whether it could.
      expect(error.code).to.equal(code)
      expect(`${error.message} ${error.remedy}`).to.match(words)
      const { errors } = await checkStart(
        settingsOf({ listen: { port: 0 }, admin: { port: 0 }, aprsis: { callsign: 'W1AW' }, database: address }),
      )
      expect(errors.join('\n'))
        .to.match(words)
        .and.not.match(/SASL|SCRAM/)
    })
})
