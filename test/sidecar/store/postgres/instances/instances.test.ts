import { expect } from 'chai'
import type { Store } from '../../../../../sidecar/messages/store.ts'
import { until } from '../../../../support/until.ts'
import { message, register } from '../../sqlite/temporary-stores.ts'
import { postgresStores } from '../postgres-stores.ts'

const HOUR = 3_600_000
const NEVER = new AbortController().signal

describe('Several instances on one PostgreSQL', () => {
  const stores = postgresStores()
  const open = (instance: string) => stores.open({ instance })
  const held = async (store: Store, ...names: string[]) => [...(await store.leases.hold(names))].sort()
  it('a closed instance is no longer in the list of instances', async () => {
    const [a, b] = [await open('a'), await open('b')]
    await a.close()
    expect((await b.instances.list()).map(({ name }) => name)).to.deep.equal(['b'])
  })

  it('an instance does not inherit the leases of an earlier instance of the same name', async () => {
    const a = await open('a')
    await held(a, 'listener/0')
    await stores.run("UPDATE instance SET owner = ''; UPDATE lease SET owner = 'a life before'")
    const repeated = await open('a')
    expect(await held(repeated, 'listener/0')).to.deep.equal([])
  })

  it('each instance can read the status that other instances publish', async () => {
    const [a, b] = [await open('a'), await open('b')]
    a.instances.publishNote('{"calls":["N0CALL"]}')
    await stores.clock.advance(1000)
    await until('the note of the other instance', async () => (await b.instances.list())[0]?.note !== '')
    expect(await b.instances.list()).to.deep.include({
      name: 'a',
      startedAt: stores.now() - 1000,
      note: '{"calls":["N0CALL"]}',
    })
  })

  it('an instance reports that another took its name, until the name is free', async () => {
    const a = await open('a')
    const takenName = async () => {
      await stores.clock.advance(1000)
      await a.leases.list() // waits until the heartbeat is done
      return a.fault()
    }
    await stores.run("UPDATE instance SET owner = 'somebody else', seen_at = now_ms() + 1000")
    await until('the other owner to be noticed', async () => {
      await stores.run('UPDATE instance SET seen_at = now_ms() + 1000')
      return takenName()
    })
    expect(a.fault()).to.equal('instance_taken')
    expect(stores.lines.filter(({ event }) => event === 'instance-taken').length).to.equal(1)
    await stores.run("UPDATE instance SET owner = ''")
    await until('the name to be free', async () => (await takenName()) === undefined)
  })

  describe('The housekeeping of several instances', () => {
    it("the instances' shared uptime restarts at 0 if no instance runs for two hours", async () => {
      const start = stores.now()
      const a = await open('a')
      expect(await a.housekeeping.presentSince?.()).to.equal(start)
      await a.close()
      await stores.shift(2 * HOUR - 1)
      const b = await open('b')
      expect(await b.housekeeping.presentSince?.()).to.equal(start)
      await b.close()
      await stores.shift(2 * HOUR)
      expect(await (await open('a')).housekeeping.presentSince?.()).to.equal(stores.now())
    })

    it('housekeeping deletes orphaned rows and expired data', async () => {
      const a = await open('a')
      await register(a, 'N0CALL')
      await a.history.append([message('kept')], true)
      await stores.run(`
        INSERT INTO ring SELECT 'N9GONE', slot, 0, '', '', '', '', 0 FROM generate_series(0, 600) AS slot;
        INSERT INTO avatar VALUES ('N9GONE', 'car', 'icon:car', 1, '');
        INSERT INTO push_due (station, newest, oldest_at, due_at) VALUES ('N9GONE', 1, 1, 1);
        INSERT INTO dropped (station, identity, received_at) SELECT 'N0CALL', '', now_ms() - 7200000 FROM generate_series(1, 600);
        INSERT INTO dropped (station, identity, received_at) VALUES ('N0CALL', '', now_ms());
        INSERT INTO ack_sent VALUES ('a', 'b', 'c', '1', now_ms() - 60000), ('a', 'b', 'c', '2', now_ms());
        INSERT INTO new_station VALUES ('192.0.2.1', now_ms() - 3600000);
        INSERT INTO station_change VALUES (now_ms() - 86400001, 'N0CALL'), (now_ms() - 86400000 + 1, 'N0CALL');
        INSERT INTO instance VALUES ('long ago', '', 1, 1, '');
        INSERT INTO lease VALUES ('call/N0OLD', 'long ago', 'x', 1, '');
        UPDATE clock SET station_count = 7`)
      expect(await a.housekeeping.tidy(NEVER)).to.equal(603)
      const tables = ['ring', 'avatar', 'dropped', 'ack_sent', 'new_station', 'station_change', 'instance', 'lease']
      const counts = tables.map((table) => `(SELECT count(*)::int FROM ${table}) AS ${table}`)
      const [remaining] = (await stores.run(`SELECT ${counts.join(', ')}`)) as [object]
      expect(remaining).to.deep.equal({
        ring: 50,
        avatar: 0,
        dropped: 1,
        ack_sent: 1,
        new_station: 1,
        station_change: 2,
        instance: 1,
        lease: 0,
      })
      const [clock] = await stores.run('SELECT changes_since = now_ms() - 86400001 AS said, station_count FROM clock')
      expect(clock).to.deep.equal({ said: true, station_count: 1 })
    })
  })
})
