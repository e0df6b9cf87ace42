import { expect } from 'chai'
import { message, register, SETTINGS, temporaryStores } from './temporary-stores.ts'

const MOST = 100_000
const LOOK_EVERY = 1000

describe('What is remembered of messages that rings have dropped', () => {
  const stores = temporaryStores()

  it('is bounded: the oldest go', async () => {
    const { store, connection } = await stores.openOver({ history: { ...SETTINGS.history, perStation: 1 } })
    await register(store, 'N0CALL')
    await connection.exec(`
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${MOST})
      INSERT INTO dropped SELECT i, 'N0CALL', 'W1AW', i, x'', ${stores.clock.now()} FROM n`)
    for (const part of ['a', 'b', 'c']) {
      const texts = Array.from({ length: LOOK_EVERY }, (_, index) => message(`${part} ${index}`))
      await store.history.append(texts, false)
      const [found] = await connection.all<{ count: number; newest: number; oldest: number }>(
        'SELECT count(*) AS count, max(id) AS newest, min(id) AS oldest FROM dropped',
      )
      expect(found?.count).to.be.within(MOST, MOST + LOOK_EVERY)
      expect(found?.newest).to.equal((found?.oldest ?? 0) + (found?.count ?? 0) - 1)
    }
  })

  it('goes with its station', async () => {
    const { store, connection } = await stores.openOver({ history: { ...SETTINGS.history, perStation: 1 } })
    await register(store, 'N0CALL', 'W1AW')
    await store.history.append(
      ['a', 'b', 'c'].map((text) => message(text)),
      false,
    )
    await store.history.append(
      ['a', 'b', 'c'].map((text) => message(text, { to: 'W1AW' })),
      false,
    )
    await store.stations.remove('N0CALL')
    expect(await connection.all('SELECT DISTINCT station FROM dropped')).to.deep.equal([{ station: 'W1AW' }])
  })
})
