import { expect } from 'chai'
import { systemClock } from '../../../../../sidecar/clock.ts'
import { PUSH_LEASE_MS } from '../../../../../sidecar/messages/push-queue.ts'
import { openAppends } from '../../../../../sidecar/store/postgres/messages/appends.ts'
import { openPushQueue } from '../../../../../sidecar/store/postgres/pushes/push-queue.ts'
import { message } from '../../sqlite/temporary-stores.ts'
import { APPENDS, registerIn } from '../messages/message-tables.ts'
import { ownDatabase } from '../shared-server.ts'

const STATIONS = Array.from({ length: 400 }, (_, index) => `S${index}`)
const WORKERS = [0, 1, 2, 3]
const ROOM = { android: 10, ios: 0, webpush: 0 }

/** All claims expire. */
const LATER = `
  CREATE OR REPLACE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
    $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + ${PUSH_LEASE_MS} $$`

describe('Push workers that share a database', () => {
  const suiteDatabase = ownDatabase()

  it('one push worker at a time claims a station, and a killed worker loses no push', async () => {
    const database = await suiteDatabase.tables(1)
    await registerIn(database, ...STATIONS)
    const { append } = openAppends({ ...APPENDS, coalesceMs: 0, database })
    await append(
      STATIONS.map((to) => message('Hello', { to })),
      false,
    )
    const notifiedTimes = new Map<string, number>()
    /** Claimed and unsettled stations, with their worker. */
    const held = new Map<string, number>()

    /** Claims and settles until nothing is due, or until it is killed after some claims, in the middle of them. */
    async function work(worker: number, lives: number): Promise<void> {
      const connections = await suiteDatabase.connect()
      const parts = { database: connections, coalesceMs: 2000, stationOf: () => undefined, clock: systemClock }
      const queue = openPushQueue({ ...parts, owner: `worker ${worker}` })
      for (let life = 0; life < lives; life += 1) {
        const claims = await queue.claim(ROOM)
        if (claims.length === 0) break
        for (const { station } of claims) {
          if (held.has(station)) throw new Error(`${station} was claimed twice, by ${held.get(station)} before.`)
          held.set(station, worker)
        }
        const settled = life === lives - 1 ? claims.slice(0, claims.length / 2) : claims
        for (const { station } of settled) {
          notifiedTimes.set(station, (notifiedTimes.get(station) ?? 0) + 1)
          // Deleted before the statement: once it is committed, another worker may claim the station.
          held.delete(station)
        }
        await Promise.all(settled.map((claim) => queue.settle(claim)))
      }
      queue.close()
      await connections.close()
    }

    await Promise.all(WORKERS.map((worker) => work(worker, worker % 2 === 0 ? Number.POSITIVE_INFINITY : 3)))
    const remaining = held.size
    expect(remaining).to.be.above(0)
    expect(notifiedTimes.size).to.equal(STATIONS.length - remaining)

    await suiteDatabase.run(LATER)
    held.clear()
    await Promise.all(WORKERS.map((worker) => work(worker, Number.POSITIVE_INFINITY)))
    expect(notifiedTimes.size).to.equal(STATIONS.length)
    expect(new Set(notifiedTimes.values())).to.deep.equal(new Set([1]))
    expect(await suiteDatabase.run('SELECT FROM push_due')).to.deep.equal([])
    expect(
      await suiteDatabase.run('SELECT FROM device JOIN ring USING (station) WHERE pushed_through < time'),
    ).to.deep.equal([])
  })
})
