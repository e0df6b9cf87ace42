import { expect } from 'chai'
import type { Store } from '../../../../../sidecar/messages/store.ts'
import { until } from '../../../../support/until.ts'
import { registration, stampOf } from '../../sqlite/temporary-stores.ts'
import { postgresStores } from '../postgres-stores.ts'

const KEY = 'N0CALL'
const PHONE = 'phone'
const WRITTEN_AFTER_MS = 10_000

/** A trigger that refuses cursor writes. It counts them in a sequence, because a rollback does not undo a sequence. */
const REFUSE = `
  CREATE SEQUENCE refused;
  CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM nextval('refused'); RAISE EXCEPTION 'not now'; END $$;
  CREATE TRIGGER refuse BEFORE UPDATE OF newest_cursor ON device EXECUTE FUNCTION refuse()`

describe('The cursors of several instances', () => {
  const stores = postgresStores()
  let firstStore: Store
  let remote: Store
  let first: number
  let second: number
  beforeEach(async () => {
    firstStore = await stores.open()
    remote = await stores.open()
    await firstStore.stations.register(registration(KEY, { deviceId: PHONE }))
    first = await stampOf(firstStore, 'a')
    second = await stampOf(firstStore, 'b')
    await stampOf(firstStore, 'c')
  })

  const oneRow = async (text: string) => Number(Object.values((await stores.run(text))[0] ?? {})[0])
  const written = () => oneRow('SELECT newest_cursor FROM device')

  it("an instance sees another instance's cursor once the cursor is in the database", async () => {
    expect(await firstStore.cursors.stampFor(KEY, PHONE, first)).to.equal(first)
    expect(await remote.cursors.stampFor(KEY, PHONE)).to.be.below(first)
    await stores.clock.advance(WRITTEN_AFTER_MS)
    await until('the cursor to be written', async () => (await written()) > 0)
    expect(await remote.cursors.stampFor(KEY, PHONE)).to.equal(first)
  })

  it('an older cursor never replaces a newer cursor that another instance stored', async () => {
    await firstStore.cursors.stampFor(KEY, PHONE, first)
    await remote.cursors.stampFor(KEY, PHONE, second)
    await remote.close()
    await firstStore.close()
    expect(await written()).to.equal(second)
  })

  it('retries to write a cursor that the database refused', async () => {
    await firstStore.cursors.stampFor(KEY, PHONE, first)
    await stores.run(REFUSE)
    await stores.clock.advance(WRITTEN_AFTER_MS)
    const refusals = "SELECT coalesce(pg_sequence_last_value('refused'::regclass), 0)"
    await until('a write to be refused', async () => (await oneRow(refusals)) > 0)
    expect(await written()).to.equal(0)
    expect(await firstStore.cursors.stampFor(KEY, PHONE)).to.equal(first)
    await stores.run('DROP TRIGGER refuse ON device')
    await until('the cursor to be written', async () => {
      await stores.clock.advance(WRITTEN_AFTER_MS)
      return (await written()) > 0
    })
    expect(await written()).to.equal(first)
  })
})
