import { expect } from 'chai'
import { systemClock } from '../../../../sidecar/clock.ts'
import { createLog } from '../../../../sidecar/log.ts'
import { checkStart } from '../../../../sidecar/operator/commands/check.ts'
import { openPostgresStore } from '../../../../sidecar/store/postgres/open-postgres.ts'
import { migrate } from '../../../../sidecar/store/postgres/schema/migrations.ts'
import { freePort } from '../../../support/host-process.ts'
import { settingsOf } from '../../../support/read-settings.ts'
import { rejection, SETTINGS } from '../sqlite/temporary-stores.ts'
import { freshDatabase, HASTY, ownDatabase, runAt } from './shared-server.ts'

const GRANTED = 'GRANT ALL ON SCHEMA mesh_companion TO guest; GRANT ALL ON ALL TABLES IN SCHEMA mesh_companion TO guest'
const FUNCTIONS_OF_GUEST = `DO $$ DECLARE one regprocedure; BEGIN
  FOR one IN SELECT oid FROM pg_proc WHERE pronamespace = 'mesh_companion'::regnamespace
  LOOP EXECUTE format('ALTER FUNCTION %s OWNER TO guest', one); END LOOP; END $$`

// Actions of a DBA, with earlier tables if they grant rights, and the expected reports.
const REFUSED = [
  [
    'a user who may not create a schema',
    '',
    'database_right_missing',
    /\(guest may not create a schema in the database /,
  ],
  [
    'a schema of another user',
    'CREATE SCHEMA mesh_companion',
    'database_right_missing',
    /\(the schema mesh_companion belongs to mesh, and guest may not create in it\)/,
  ],
  [
    'functions of another user',
    GRANTED,
    'database_right_missing',
    / \(the function \w+ belongs to mesh, and not to guest\)/,
  ],
  [
    'a table without write permission',
    `${GRANTED}; ${FUNCTIONS_OF_GUEST}; REVOKE INSERT ON mesh_companion.instance FROM guest`,
    'database_right_missing',
    /\(the table instance belongs to mesh, and guest may not write to it\)/,
  ],
  [
    'tables of a newer version',
    `${GRANTED}; ${FUNCTIONS_OF_GUEST}; UPDATE mesh_companion.clock SET version = version + 1`,
    'database_newer',
    /a newer version/,
  ],
  [
    'tables of an older version',
    `${GRANTED}; ${FUNCTIONS_OF_GUEST}; UPDATE mesh_companion.clock SET version = 3`,
    'database_outdated',
    /too old to be upgraded.* \(its schema has version 3, and this sidecar needs 11 or later\)/,
  ],
  [
    'a read-only database',
    'ALTER ROLE guest SET default_transaction_read_only = on; GRANT CREATE ON DATABASE db TO guest',
    'database_read_only',
    /accepts no writes/,
  ],
] as const

const FINE = [
  ['create a schema', 'GRANT CREATE ON DATABASE db TO guest'],
  ['use the existing schema', 'CREATE SCHEMA mesh_companion AUTHORIZATION guest'],
  [
    'use a schema of their group',
    'CREATE ROLE wheel; GRANT wheel TO guest; CREATE SCHEMA mesh_companion AUTHORIZATION wheel',
  ],
] as const

describe('A check of a PostgreSQL database', () => {
  const suiteDatabase = ownDatabase()
  let address = ''
  before(() => suiteDatabase.run('CREATE ROLE guest LOGIN'))
  afterEach(() => suiteDatabase.run('ALTER ROLE guest RESET ALL'))
  beforeEach(async () => {
    address = await freshDatabase()
  })

  async function prepare(text: string): Promise<void> {
    if (text.startsWith(GRANTED)) await migrate(await suiteDatabase.connect(undefined, undefined, address))
    await runAt(address, text.replace('DATABASE db', `DATABASE ${new URL(address).pathname.slice(1)}`))
  }
  const asGuest = () => address.replace('mesh@', 'guest@')
  const start = (clock = systemClock) =>
    openPostgresStore({ ...SETTINGS, ...suiteDatabase.at(asGuest()) }, clock, createLog('silent'))
  const check = (database = asGuest()) =>
    checkStart(settingsOf({ listen: { port: 0 }, admin: { port: 0 }, aprsis: { callsign: 'W1AW' }, database }))
  /** Returns all database objects, each with the transaction that last changed it. */
  const catalog = () =>
    runAt(
      address,
      'SELECT oid, xmin FROM pg_namespace UNION ALL SELECT oid, xmin FROM pg_proc UNION ALL SELECT oid, xmin FROM pg_class ORDER BY 1',
    )

  // Shows: sidecar P1.11.
  for (const [name, text, code, words] of REFUSED)
    it(`start and --check refuse ${name}, and change nothing`, async () => {
      await prepare(text)
      const earlier = await catalog()
      const { errors } = await check()
      expect(errors).to.have.length(1)
      expect(errors[0])
        .to.match(/^database: /)
        .and.match(words)
      expect(await catalog()).to.deep.equal(earlier)
      expect((await rejection(start(HASTY))).code).to.equal(code)
      if (code === 'database_newer' || code === 'database_outdated') expect(await catalog()).to.deep.equal(earlier)
    })

  it('--check accepts several PostgreSQL hosts if one answers, and fails if none does', async () => {
    await prepare('GRANT CREATE ON DATABASE db TO guest')
    const { port } = new URL(address)
    const [closed, none] = [await freePort(), await freePort()]
    const index = (...ports: readonly (string | number)[]) =>
      asGuest().replace(`127.0.0.1:${port}`, ports.map((item) => `127.0.0.1:${item}`).join())
    expect((await check(index(closed, none))).errors.join()).to.match(/^database: PostgreSQL cannot be reached/)
    expect((await check(index(closed, port))).errors).to.deep.equal([])
  })

  // Shows: sidecar P1.11.
  for (const [caseName, text] of FINE)
    it(`--check finds no problem if the user may ${caseName}`, async () => {
      await prepare(text)
      const earlier = await catalog()
      expect((await check()).errors).to.deep.equal([])
      expect(await catalog()).to.deep.equal(earlier)
      await (await start()).close()
      expect((await check()).errors).to.deep.equal([])
      await (await start()).close()
    })

  it('--check warns if PostgreSQL confirms writes before they are on disk', async () => {
    await prepare('GRANT CREATE ON DATABASE db TO guest; ALTER ROLE guest SET synchronous_commit = off')
    const { errors, warnings } = await check()
    expect(errors).to.deep.equal([])
    expect(warnings.join()).to.include('PostgreSQL confirms writes that no synchronous standby has')
  })
})
