import { expect } from 'chai'
import type { Postgres, Queries } from '../../../../../sidecar/store/postgres/database/connection.ts'
import { openAppends } from '../../../../../sidecar/store/postgres/messages/appends.ts'
import { openCursors, type SharedCursors } from '../../../../../sidecar/store/postgres/messages/cursors.ts'
import { openHistory } from '../../../../../sidecar/store/postgres/messages/history.ts'
import { openReader } from '../../../../../sidecar/store/postgres/messages/reader.ts'
import { FakeClock } from '../../../../support/fake-clock.ts'
import { append, message } from '../../sqlite/temporary-stores.ts'
import { APPENDS, messageTables, registerIn } from './message-tables.ts'

const KEY = 'N0CALL'
const WRITTEN_AFTER_MS = 10_000

describe('The cursors of several instances', () => {
  const tables = messageTables()
  let database: Postgres & { readonly address: string }
  let clock: FakeClock
  let written = 0
  beforeEach(async () => {
    database = await tables.open(APPENDS.history.perStation)
    await registerIn(database, [KEY])
    clock = new FakeClock()
    written = 0
  })

  /** As many statements as it may, of the one database. */
  function instance() {
    const counted: Queries = {
      async query<Row>(...statement: Parameters<Queries['query']>) {
        const rows = await database.query<Row>(...statement)
        if (statement[0].includes('UPDATE station')) written += 1
        return rows
      },
    }
    const reader = openReader(counted)
    const cursors = openCursors({ database: counted, reader, clock })
    const appends = openAppends({ ...APPENDS, database })
    return { cursors, history: openHistory({ appends, reader, cursors, perStation: APPENDS.history.perStation }) }
  }

  type Instance = ReturnType<typeof instance>

  let sent = 0
  async function receive(): Promise<number> {
    sent += 1
    const at = instance()
    const [outcome] = await append(at, message(`text ${sent}`, { seqId: String(sent) }))
    return outcome?.kind === 'stored' ? outcome.message.time : Number.NaN
  }

  async function sync(at: Instance, since: number) {
    const found = await at.history.since(KEY, since)
    if (!found) throw new Error('It is not registered.')
    const delivery = at.cursors.handOut(KEY, since, found.serverTime)
    return { ...found, delivery }
  }

  /** Until what is due to be written has been. */
  async function isWritten(change: () => unknown = () => clock.advance(WRITTEN_AFTER_MS)): Promise<void> {
    const before = written
    await change()
    while (written === before) await new Promise((resolve) => setImmediate(resolve))
  }

  const current = (at: { readonly cursors: SharedCursors }) => at.cursors.current(KEY)

  it('go by what the phone got at any of them, once that is written down', async () => {
    const [here, there] = [instance(), instance()]
    await receive()
    const { serverTime, delivery } = await sync(here, 0)
    delivery.sent()
    const unseen = await receive()
    expect(await current(here)).to.equal(serverTime)
    // Older, which is as safe.
    expect(await current(there)).to.be.below(serverTime)
    await isWritten()
    expect(await current(there)).to.equal(serverTime)
    expect((await sync(there, serverTime)).messages.map(({ time }) => time)).to.deep.equal([unseen])
  })

  it('go by no answer at another one that has just gone out, since its loss may show yet', async () => {
    const [here, there] = [instance(), instance()]
    await receive()
    const first = await sync(here, 0)
    first.delivery.sent()
    await clock.advance(WRITTEN_AFTER_MS - 1)
    const time = await receive()
    const second = await sync(here, first.serverTime)
    second.delivery.sent()
    await clock.advance(1)
    for (let times = 0; times < 5; times += 1) expect(await current(there)).to.be.below(time)
    await isWritten()
    expect(await current(there)).to.be.at.least(second.serverTime)
  })

  it('go by none that had just gone out when its instance was closed, but by those before it', async () => {
    const [here, there] = [instance(), instance()]
    await receive()
    const first = await sync(here, 0)
    first.delivery.sent()
    await isWritten()
    const time = await receive()
    const second = await sync(here, first.serverTime)
    second.delivery.sent()
    await here.cursors.seal()
    expect(await current(there)).to.equal(first.serverTime)
    expect((await sync(there, first.serverTime)).messages.map((one) => one.time)).to.deep.equal([time])
  })

  it('take back what was written of an answer that turned out to be lost, at once', async () => {
    const [here, there] = [instance(), instance()]
    const first = await current(here)
    const time = await receive()
    const { serverTime, delivery } = await sync(here, first)
    delivery.sent()
    await isWritten()
    expect(await current(there)).to.be.at.least(serverTime)
    await isWritten(() => delivery.lost())
    for (const at of [here, there, instance()]) expect(await current(at)).to.be.below(time)
  })

  it('leave alone what the phone got at another one meanwhile', async () => {
    const [here, there] = [instance(), instance()]
    await receive()
    const lost = await sync(here, 0)
    lost.delivery.sent()
    await isWritten()
    const again = await sync(there, lost.serverTime)
    again.delivery.sent()
    await receive()
    const newer = await sync(there, again.serverTime)
    newer.delivery.sent()
    await isWritten()
    await isWritten(() => lost.delivery.lost())
    await receive()
    for (const at of [there, instance()]) expect(await current(at)).to.equal(newer.serverTime)
  })

  it('are not moved at another one by who looks at the history from its beginning', async () => {
    const [here, there] = [instance(), instance()]
    await receive()
    const { serverTime, delivery } = await sync(here, 0)
    delivery.sent()
    const { serverTime: asked, delivery: next } = await sync(here, serverTime)
    next.sent()
    await isWritten()
    const time = await receive()
    const spy = await sync(there, 0)
    expect(spy.messages).to.have.length(2)
    spy.delivery.sent()
    expect(await current(there)).to.be.within(serverTime, time - 1)
    expect(asked).to.be.at.least(serverTime)
  })

  it('cost no write where there was nothing to be seen, nor while the phone goes on', async () => {
    const here = instance()
    let { serverTime } = await sync(here, 0)
    for (let times = 0; times < 20; times += 1) {
      const next = await sync(here, serverTime)
      next.delivery.sent()
      serverTime = next.serverTime
    }
    await here.cursors.seal()
    await clock.advance(WRITTEN_AFTER_MS)
    expect(written).to.equal(0)
  })
})
