import { expect } from 'chai'
import type { Queries } from '../../../../../sidecar/store/postgres/database/connection.ts'
import type { SqlValue } from '../../../../../sidecar/store/postgres/database/sql-values.ts'
import { openAppends } from '../../../../../sidecar/store/postgres/messages/appends.ts'
import { openReader } from '../../../../../sidecar/store/postgres/messages/reader.ts'
import { message, rejection, texts } from '../../sqlite/temporary-stores.ts'
import { ownDatabase } from '../shared-server.ts'
import { APPENDS, registerIn } from './message-tables.ts'

const PER_STATION = 5

describe('The batching of syncs', () => {
  const suiteDatabase = ownDatabase()

  it('one statement serves up to 32 syncs, and at most two statements run at a time', async () => {
    const database = await suiteDatabase.tables(PER_STATION)
    const keys = Array.from({ length: 20 }, (_, index) => `S${index}`)
    await registerIn(database, ...keys)
    const appends = openAppends({ ...APPENDS, database })
    await appends.append(
      keys.map((to) => message(`for ${to}`, { to })),
      false,
    )
    const sizes: number[] = []
    let underWay = 0
    let most = 0
    const counted: Queries = {
      async query<Row>(text: string, values: readonly SqlValue[] = []) {
        sizes.push((values[0] as readonly SqlValue[]).length)
        underWay += 1
        most = Math.max(most, underWay)
        const rows = await database.query<Row>(text, values)
        underWay -= 1
        return rows
      },
    }
    const reader = openReader(counted)
    const answers = await Promise.all(Array.from({ length: 140 }, (_, index) => reader.read(`S${index % 25}`, '', 0)))
    for (const [index, { station }] of answers.entries()) {
      if (index % 25 < 20) expect(texts(station?.messages ?? [])).to.deep.equal([`for S${index % 25}`])
      else expect(station).to.equal(undefined)
    }
    expect(sizes).to.deep.equal([32, 32, 32, 32, 12])
    expect(most).to.equal(2)
  })

  // Shows: sidecar P1.14.
  it("after a restore or a standby's promotion, syncs report a new database lineage", async () => {
    const database = await suiteDatabase.tables(PER_STATION)
    await registerIn(database, 'S1')
    let timeline = 1
    const reader = openReader(database, () => timeline)
    const lineage = async () => (await reader.read('S1', '', 0)).lineage
    const first = await lineage()
    expect(await lineage()).to.equal(first)
    await suiteDatabase.run('UPDATE clock SET last = last - 1')
    const restored = await lineage()
    expect(restored).to.not.equal(first)
    expect(await lineage()).to.equal(restored)
    timeline = 2
    expect(await lineage()).to.not.equal(restored)
  })

  it('rejects each waiting sync while the database is away', async () => {
    const away: Queries = { query: () => Promise.reject(new Error('It is away.')) }
    const { read } = openReader(away)
    const refused = await Promise.all([rejection(read('S1', '', 0)), rejection(read('S2', '', 0))])
    expect(refused.map(({ message: text }) => text)).to.deep.equal(['It is away.', 'It is away.'])
  })
})
