import { expect } from 'chai'
import { systemClock } from '../../../../../sidecar/clock.ts'
import { PUSH_LEASE_MS, type PushClaim } from '../../../../../sidecar/messages/push-queue.ts'
import { openPushQueue } from '../../../../../sidecar/store/postgres/pushes/push-queue.ts'
import { messageTables } from '../messages/message-tables.ts'

/** 20,000 and 8 with `PUSH_WORKERS=8 PUSHES_DUE=20000`. */
const DUE = Number(process.env.PUSHES_DUE ?? 3000)
const WORKERS = Number(process.env.PUSH_WORKERS ?? 4)
const ROOM = { android: 100, ios: 0, webpush: 0 }

const FILL = `
  WITH filled AS (
    INSERT INTO station (key, platform, push_token, ack_messages, registered_at, last_seen_at, pushed_through)
      SELECT 'S' || n, 'android', 'token', false, 1, 1, 1 FROM generate_series(1, $1::int) AS n RETURNING key
  ), devices AS (
    INSERT INTO device (key, station, platform, push_token, ack_messages, registered_at, last_seen_at, pushed_through)
      SELECT key, key, 'android', 'token', false, 1, 1, 1 FROM filled
  ), rings AS (
    INSERT INTO ring (station, slot, time, source, seq_id, text, identity, received_at)
      SELECT key, 0, 2, 'W1AW', '1', 'Hello', '', 0 FROM filled
  )
  INSERT INTO push_due (station, newest, oldest_at, due_at) SELECT key, 2, now_ms(), now_ms() FROM filled`

/** Everything that was claimed is so for nobody any more. */
const LATER = `
  CREATE OR REPLACE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
    $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + ${PUSH_LEASE_MS} $$`

describe('Workers that claim pushes from one table', () => {
  const tables = messageTables()

  it('get each station once while a lease holds, and between them every one, though some are killed', async function () {
    this.timeout(300_000)
    const database = await tables.open(1)
    await database.query(FILL, [DUE])
    const told = new Map<string, number>()
    /** Claimed by somebody, and not settled: by whom. */
    const held = new Map<string, number>()

    /** Claims and settles until nothing is due, or until it is killed after some claims, in the middle of them. */
    async function work(worker: number, lives: number): Promise<void> {
      const connections = await tables.connect(database.address)
      const queue = openPushQueue({
        database: connections,
        owner: `worker ${worker}`,
        coalesceMs: 2000,
        stationOf: () => undefined,
        clock: systemClock,
      })
      for (let life = 0; life < lives; life += 1) {
        const claims = await queue.claim(ROOM)
        if (claims.length === 0) break
        for (const { station } of claims) {
          if (held.has(station)) throw new Error(`${station} was claimed twice, by ${held.get(station)} before.`)
          held.set(station, worker)
        }
        const settled = life === lives - 1 ? claims.slice(0, claims.length / 2) : claims
        await Promise.all(settled.map((claim) => settle(claim, queue.settle)))
      }
      queue.close()
      await connections.close()
    }

    async function settle(claim: PushClaim, by: (claim: PushClaim) => Promise<void>): Promise<void> {
      const { station: key } = claim
      told.set(key, (told.get(key) ?? 0) + 1)
      // Before the statement: from its commit on it may be another's, and nothing here is due again.
      held.delete(key)
      await by(claim)
    }

    // Half of them are killed.
    const lives = (worker: number) => (worker % 2 === 0 ? Number.POSITIVE_INFINITY : 3)
    await Promise.all(Array.from({ length: WORKERS }, (_, worker) => work(worker, lives(worker))))
    const left = held.size
    expect(left).to.be.above(0)
    expect(told.size).to.equal(DUE - left)

    await database.onOwnConnection((connection) => connection.run(LATER))
    held.clear()
    await Promise.all(Array.from({ length: WORKERS }, (_, worker) => work(worker, Number.POSITIVE_INFINITY)))
    expect(told.size).to.equal(DUE)
    expect(new Set(told.values())).to.deep.equal(new Set([1]))
    expect(await database.query('SELECT FROM push_due')).to.deep.equal([])
    expect(await database.query('SELECT FROM device WHERE pushed_through < 2')).to.deep.equal([])
  })
})
