import { expect } from 'chai'
import type { Connection } from '../../../../../sidecar/store/sqlite/database/connection.ts'
import { append, kindsOf, message, register, SETTINGS, temporaryStores } from '../temporary-stores.ts'

const MOST = 100_000
const SWEPT_AT_ONCE = 1000

describe('The dropped messages that are kept to recognize duplicates', () => {
  const stores = temporaryStores()
  const small = { history: { ...SETTINGS.history, perStation: 1 } }

  async function rows(connection: Connection): Promise<{ count: number; oldest: string }> {
    const [row] = await connection.all<{ count: number; oldest: string }>(
      'SELECT count(*) AS count, seq_id AS oldest FROM message WHERE time = (SELECT min(time) FROM message) OR time > 0',
    )
    return row ?? { count: 0, oldest: '' }
  }

  // Shows: sidecar C4.23.
  it('forgets the oldest dropped messages in batches if there are over 100,000', async () => {
    const firstLife = await stores.openOver(small)
    await register(firstLife.store, 'N0CALL')
    await firstLife.connection.exec(`
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${MOST})
      INSERT INTO message SELECT i, 'N0CALL', 'W1AW', i, x'', ${stores.clock.now()}, NULL, NULL FROM n`)
    await firstLife.store.close()

    const { store, connection } = await stores.openOver(small)
    const ends = ['1', String(MOST)].map((seqId) => message('', { seqId }))
    expect(await kindsOf(store, ...ends)).to.deep.equal(['duplicate', 'duplicate'])
    for (const part of ['a', 'b', 'c']) {
      const texts = Array.from({ length: SWEPT_AT_ONCE }, (_, index) => message(`${part} ${index}`))
      await append(store, ...texts)
      expect((await rows(connection)).count).to.be.within(MOST, MOST + 2 * SWEPT_AT_ONCE)
    }
    for (let round = 0; round < 3; round += 1) await append(store, `alone ${round}`)
    const { count, oldest } = await rows(connection)
    expect(count).to.be.within(MOST, MOST + SWEPT_AT_ONCE)
    expect(Number(oldest)).to.equal(MOST + 3 * SWEPT_AT_ONCE + 4 - count)
  })

  it('forgets the dropped messages of a station that is removed', async () => {
    const { store, connection } = await stores.openOver(small)
    await register(store, 'N0CALL', 'W1AW')
    for (const to of ['N0CALL', 'W1AW']) await append(store, ...['a', 'b', 'c'].map((text) => message(text, { to })))
    await store.stations.remove('N0CALL')
    expect(await connection.all('SELECT station, count(*) AS count FROM message GROUP BY 1')).to.deep.equal([
      { station: 'W1AW', count: 3 },
    ])
  })
})
