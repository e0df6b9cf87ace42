import { expect } from 'chai'
import { createRingCache } from '../../sidecar/api/rings/create-ring-cache.ts'
import { type Clock, systemClock } from '../../sidecar/clock.ts'
import { createLog } from '../../sidecar/log.ts'
import type { AppendOutcome, Store } from '../../sidecar/messages/store.ts'
import { openPostgresStore } from '../../sidecar/store/postgres/open-postgres.ts'
import { answerIn } from '../sidecar/api/rings/ring-answer.ts'
import { runAt } from '../sidecar/store/postgres/shared-server.ts'
import { message, newer, registration, rejection, SETTINGS, texts } from '../sidecar/store/sqlite/temporary-stores.ts'
import type { Postgres } from '../support/postgres.ts'
import { startTcpRelay } from '../support/tcp-relay.ts'
import {
  following,
  freeze,
  type PrimaryAndStandby,
  promote,
  startPrimaryAndStandby,
  until,
  waitFor,
} from './support/primary-and-standby.ts'

/** Divides delays under 10 s by ten. A fake clock would not work, because the time of PostgreSQL is real. */
const HASTY: Clock = {
  ...systemClock,
  after: (delayMs, task) => systemClock.after(delayMs < 10_000 ? delayMs / 10 : delayMs, task),
}
/**
 * Returns a clock like {@link HASTY} that drops tasks with a delay of 1 or 5 s after `rest`. Otherwise a probe that
 * waits for the standby would lock the row for which messages wait. Before `rest`, a retried start needs such a delay.
 */
function restful() {
  let rests = false
  const clock: Clock = {
    ...HASTY,
    after: (delayMs, task) =>
      HASTY.after(delayMs, () => (rests && [1000, 5000].includes(delayMs) ? undefined : task())),
  }
  return {
    clock,
    /** Begins to drop these tasks. Resolves once no probe is running. */
    rest(store: Store): Promise<void> {
      rests = true
      return store.probe()
    },
  }
}
const PER_STATION = 2000

describe('The sidecar during a PostgreSQL failover', function () {
  this.timeout(120_000)
  let pair: PrimaryAndStandby
  let lines: Record<string, unknown>[] = []
  const log = createLog('debug', { write: (line) => void lines.push(JSON.parse(line)) })
  const closing: (() => Promise<unknown>)[] = []

  beforeEach(() => {
    lines = []
  })
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  async function start(synchronous = true): Promise<void> {
    pair = await startPrimaryAndStandby(synchronous)
    closing.push(pair.stop)
  }

  const portOf = ({ address }: Postgres) => new URL(address).port
  const both = () =>
    `postgres://mesh@127.0.0.1:${portOf(pair.primary)},127.0.0.1:${portOf(pair.standby)}/postgres?target_session_attrs=read-write`

  async function open(database = both(), instance = 'one', clock = HASTY): Promise<Store> {
    const history = { ...SETTINGS.history, perStation: PER_STATION }
    const ack = { minIntervalMs: 0, maxPerSenderPerMinute: 1_000_000 }
    const settings = { ...SETTINGS, history, ack, instance, database, databaseTls: { caFile: null } }
    const store = await openPostgresStore(settings, clock, log)
    closing.push(store.close)
    await store.stations.register(registration('N0CALL', { ackMessages: true }))
    return store
  }

  let sent = 0
  const nextNumber = (): string => {
    sent += 1
    return String(sent)
  }
  /** Sends messages without a pause until `stop`, which resolves with the texts that were acknowledged. */
  function traffic(store: Store) {
    let going = true
    const acked: string[] = []
    const send = async () => {
      while (going) {
        const seqId = nextNumber()
        const text = `text ${seqId}`
        const [outcome] = await store.history.append([message(text, { seqId })], true)
        if (outcome && outcome.kind !== 'no_station' && outcome.ack) acked.push(text)
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    }
    const senders = Promise.all([send(), send(), send()])
    return {
      acked,
      more: async (count = 20) => {
        const enough = acked.length + count
        await until(async () => acked.length >= enough)
      },
      stop: async () => {
        going = false
        await senders
      },
    }
  }

  /** A phone that syncs from its last cursor. `given`: the texts that it received, in order. */
  function phone(store: Store) {
    let since = 0
    const records: string[] = []
    return {
      given: records,
      async sync() {
        const newRecords = await newer(store, 'N0CALL', since)
        records.push(...texts(newRecords.messages))
        since = Math.max(since, newRecords.answerStamp)
      },
    }
  }

  const say = (store: Store, text: string): Promise<readonly AppendOutcome[]> =>
    store.history.append([message(text, { seqId: nextNumber() })], true)
  const events = () => lines.map(({ event }) => event)

  // Shows: sidecar P1.14.
  it('a failover to a synchronous standby loses no acknowledged message', async () => {
    await start()
    const store = await open()
    expect(events()).not.to.include('database-may-lose-messages')
    const [flow, reader] = [traffic(store), phone(store)]
    await flow.more()
    await reader.sync()
    await pair.primary.kill()
    await promote(pair.standby)
    await flow.more()
    await flow.stop()
    await reader.sync()
    expect(reader.given).to.include.members(flow.acked)
    expect(reader.given).to.have.length(new Set(reader.given).size)
    expect(store.fault()).to.equal(undefined)
  })

  // Shows: sidecar P1.14.
  it('the store does not return to an old primary that becomes writable again', async () => {
    await start()
    const store = await open()
    await pair.primary.kill()
    await promote(pair.standby)
    await say(store, 'one')
    const old = pair.primary
    await old.startAgain()
    await waitFor(old, '')
    await store.probe()
    await say(store, 'two')
    const fresh = await open(both(), 'two')
    expect(texts((await newer(fresh, 'N0CALL')).messages)).to.deep.equal(['one', 'two'])
    // The store refuses the old primary even if no other server runs.
    await pair.standby.kill()
    const waiting = say(store, 'three')
    await until(async () => store.fault() === 'database_older')
    expect(await runAt(old.address, "SELECT FROM mesh_companion.ring WHERE text = 'three'")).to.deep.equal([])
    await pair.standby.startAgain()
    expect((await waiting)[0]).to.include({ kind: 'stored', ack: true })
    await until(async () => store.fault() === undefined)
  })

  // Shows: sidecar P1.14.
  it('the store waits for the new primary if the database address leads to the old one', async () => {
    await start(false)
    const way = await startTcpRelay(Number(portOf(pair.primary)))
    closing.push(way.close)
    const store = await open(`postgres://mesh@127.0.0.1:${way.port}/postgres`)
    expect(events()).to.include('database-may-lose-messages')
    await way.cut()
    await promote(pair.standby)
    await way.mend(Number(portOf(pair.standby)))
    expect((await say(store, 'one'))[0]).to.include({ kind: 'stored', ack: true })
    await way.cut()
    await way.mend(Number(portOf(pair.primary)))
    const waiting = say(store, 'two')
    await until(async () => store.fault() === 'database_older')
    expect((await rejection(newer(store, 'N0CALL'))).code).to.equal('database_older')
    await way.cut()
    await way.mend(Number(portOf(pair.standby)))
    expect((await waiting)[0]).to.include({ kind: 'stored', ack: true })
    expect(texts((await newer(store, 'N0CALL')).messages)).to.deep.equal(['one', 'two'])
  })

  // Shows: sidecar P1.14.
  it('sends no ack to a sender while the synchronous standby is frozen', async () => {
    await start()
    const { clock, rest } = restful()
    const store = await open(both(), 'one', clock)
    await rest(store)
    await freeze(pair.standby, 'SIGSTOP')
    let settled = false
    const waiting = say(store, 'one').finally(() => {
      settled = true
    })
    await until(waitsForStandby)
    expect(settled).to.equal(false)
    await freeze(pair.standby, 'SIGCONT')
    expect((await waiting)[0]).to.include({ kind: 'stored', ack: true })
  })

  // Shows: sidecar P1.14.
  it('does not acknowledge a message that only a crashed primary has stored', async () => {
    await start()
    const { clock, rest } = restful()
    const store = await open(both(), 'one', clock)
    await rest(store)
    await pair.standby.kill()
    let settled = false
    const waiting = say(store, 'one').finally(() => {
      settled = true
    })
    await until(waitsForStandby)
    await pair.primary.kill()
    await pair.primary.startAgain()
    expect(await runAt(pair.primary.address, 'SELECT FROM mesh_companion.ring WHERE time > 0')).to.have.length(1)
    await until(async () => settled || (await waitsForStandby()))
    expect(settled).to.equal(false)
    await pair.standby.startAgain()
    await following(pair)
    expect((await waiting)[0]).to.include({ kind: 'duplicate', ack: true })
    expect(texts((await newer(store, 'N0CALL')).messages)).to.deep.equal(['one'])
  })

  // Shows: sidecar P1.14.
  it('a failover to a stale standby loses only messages that were not replicated', async () => {
    await start(false)
    const store = await open()
    const reader = phone(store)
    await say(store, 'both have it')
    await until(
      async () => (await runAt(pair.standby.address, 'SELECT FROM mesh_companion.ring WHERE time > 0')).length > 0,
    )
    await freeze(pair.standby, 'SIGSTOP')
    expect((await say(store, 'lost'))[0]).to.include({ kind: 'stored', ack: true })
    await reader.sync()
    await pair.primary.kill()
    await freeze(pair.standby, 'SIGCONT')
    await promote(pair.standby)
    expect((await say(store, 'after'))[0]).to.include({ kind: 'stored' })
    await reader.sync()
    expect(reader.given).to.deep.equal(['both have it', 'lost', 'after'])
  })

  // Shows: sidecar P1.14.
  it('after a stale standby is promoted, all sidecars drop cached data that it lacks', async () => {
    await start(false)
    const [firstStore, two] = [await open(), await open(both(), 'two')]
    const rings = [firstStore, two].map((store) => createRingCache(store))
    const texts = () =>
      Promise.all(
        rings.map(async (ring) => answerIn(await ring.since('N0CALL', '', 0)).messages.map(({ text }) => text)),
      )
    await say(firstStore, 'both have it')
    await until(
      async () => (await runAt(pair.standby.address, 'SELECT FROM mesh_companion.ring WHERE time > 0')).length > 0,
    )
    await pair.standby.kill()
    await say(firstStore, 'lost')
    await firstStore.stations.register(registration('K1LOST'))
    // Only the first cache now has the message `lost`.
    await rings[0]?.since('N0CALL', '', 0)
    await pair.primary.kill()
    await pair.standby.startAgain()
    await promote(pair.standby)
    await say(two, 'after')
    // The first read of each store fails if its connection was cut.
    for (const store of [firstStore, two])
      await until(() =>
        newer(store, 'N0CALL').then(
          () => true,
          () => false,
        ),
      )
    expect(await texts()).to.deep.equal([
      ['both have it', 'after'],
      ['both have it', 'after'],
    ])
    await until(async () => firstStore.stations.get('K1LOST') === undefined)
  })

  const waitsForStandby = async () =>
    (
      await runAt(
        pair.primary.address,
        "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%FROM append(%'",
      )
    ).length > 0
})
