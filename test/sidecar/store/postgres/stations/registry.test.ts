import { expect } from 'chai'
import fc from 'fast-check'
import { type Clock, systemClock } from '../../../../../sidecar/clock.ts'
import { createLog } from '../../../../../sidecar/log.ts'
import type { RegisterOutcome, Registration, StoreSettings } from '../../../../../sidecar/messages/store.ts'
import type { Postgres } from '../../../../../sidecar/store/postgres/database/connection.ts'
import { openRegistry, type Registry } from '../../../../../sidecar/store/postgres/stations/registry.ts'
import { registration, SETTINGS } from '../../sqlite/temporary-stores.ts'
import { hastened, ownDatabase } from '../shared-server.ts'

/** A clock that never runs a scheduled task. */
const STILL: Clock = { ...systemClock, after: () => ({ cancel: () => undefined }) }
/** A clock that shortens a delay of one second to 20 ms. */
const HASTY = hastened(50)
const DEAF = () => undefined

describe('The registry of several instances', () => {
  const suiteDatabase = ownDatabase()
  const log = createLog('silent')
  beforeEach(() => suiteDatabase.tables(3))

  interface Changes {
    readonly clock?: Clock
    readonly listen?: Postgres['listen']
    readonly settings?: StoreSettings
  }
  async function open({ clock = STILL, listen, settings = SETTINGS }: Changes = {}): Promise<Registry> {
    const { query, read, timeline, ...database } = await suiteDatabase.connect()
    const postgres = { query, read, timeline, listen: listen ?? database.listen }
    const registry = await openRegistry({ postgres, settings, clock, log })
    suiteDatabase.closing.push(registry.close)
    return registry
  }

  /** Resolves once `condition` returns true. Checks it after each change of the registry. */
  const until = (registry: Registry, condition: () => boolean) =>
    new Promise<void>((resolve) => {
      const look = () => condition() && resolve()
      registry.onChange(look)
      look()
    })
  const oneRow = async (text: string) => (await suiteDatabase.run(text))[0]
  const register = (registry: Registry, key: string, changes = {}) => registry.register(registration(key, changes))

  it("finds another instance's station in the database before a NOTIFY arrives", async () => {
    const [a, b] = [await open(), await open({ listen: DEAF })]
    await register(a, 'N0CALL')
    expect(b.get('N0CALL')).to.equal(undefined)
    expect((await b.find('N0CALL'))?.devices).to.have.nested.property('[0].pushToken', 'token-of-N0CALL')
    expect(b.size).to.equal(1)
    expect(await b.find('K9NONE')).to.equal(undefined)
  })

  it('an instance sees which stations other instances register, change and remove', async () => {
    const [a, b] = [await open(), await open()]
    await register(a, 'N0CALL', { avatar: { icon: 'car', image: '', hash: 'icon:car' } })
    await until(b, () => b.size === 1)
    expect(b.get('N0CALL')).to.deep.equal(a.get('N0CALL'))
    const changes = b.avatarChanges
    await register(a, 'N0CALL', { pushToken: 'new', avatar: { icon: '', image: '', hash: '' } })
    await register(a, 'N1CALL')
    await until(b, () => b.size === 2)
    expect(b.get('N0CALL')?.devices).to.have.nested.property('[0].pushToken', 'new')
    expect(b.avatarChanges).to.be.above(changes)
    await a.markTokenDead('N0CALL', '', 'new')
    await a.remove('N1CALL')
    await until(b, () => b.size === 1)
    expect(b.get('N0CALL')?.devices[0]?.tokenDead).to.equal(true)
    expect(b.countDevices()).to.deep.equal({ android: 1, ios: 0, webpush: 0 })
  })

  it('an instance sees and counts the devices that other instances add and remove', async () => {
    const [a, b] = [await open(), await open()]
    const devices = () => b.get('N0CALL')?.devices ?? []
    const ids = () =>
      devices()
        .map(({ id }) => id)
        .join()
    await register(a, 'N0CALL')
    expect((await register(a, 'N0CALL', { deviceId: 'tablet', platform: 'ios' })).kind).to.equal('joined')
    // Once the other instance knows N1CALL, it also knows N0CALL's devices, which registered earlier.
    await register(a, 'N1CALL')
    await until(b, () => b.size === 2)
    expect(ids()).to.equal(',tablet')
    expect(b.countDevices()).to.deep.equal({ android: 2, ios: 1, webpush: 0 })
    // The tablet's token was the earlier device's, which gets no more notifications.
    expect(devices().map(({ tokenDead }) => tokenDead)).to.deep.equal([true, false])
    expect(await a.remove('N0CALL', { deviceId: '' })).to.equal('devices')
    await a.remove('N1CALL')
    await until(b, () => b.size === 1)
    expect(ids()).to.equal('tablet')
  })

  it('enforces the device limit across simultaneous registrations at all instances', async () => {
    const instances = [await open({ listen: DEAF }), await open({ listen: DEAF })]
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        register(instances[n % 2] as Registry, 'N0CALL', { deviceId: `d${n}`, pushToken: `t${n}` }),
      ),
    )
    const count = (kind: string) => outcomes.filter((outcome) => outcome.kind === kind).length
    expect(count('created')).to.equal(1)
    expect(count('joined')).to.equal(7)
    expect(count('devices_full')).to.equal(4)
    await suiteDatabase.run('UPDATE device SET last_seen_at = 0 WHERE key = (SELECT max(key) FROM device)')
    const { kind } = await register(instances[0] as Registry, 'N0CALL', { deviceId: 'new', pushToken: 'new' })
    expect(kind).to.equal('joined')
    const counts_ = await oneRow('SELECT count(*)::int AS devices, min(last_seen_at) > 0 AS recent FROM device')
    expect(counts_).to.deep.equal({ devices: 8, recent: true })
  })

  it('an instance reads missed changes after its LISTEN connection was cut', async () => {
    const { listen } = await suiteDatabase.connect(HASTY)
    const [a, b] = [await open({ listen: DEAF }), await open({ listen })]
    await register(a, 'N0CALL')
    await until(b, () => b.size === 1)
    await suiteDatabase.run(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'",
    )
    await register(a, 'N1CALL')
    await until(b, () => b.size === 2)
  })

  // Shows: sidecar P1.15.
  it('registers 1,000 stations at the same time, and then a new token for each', async () => {
    // Without a time limit, so that other load on the machine does not matter.
    const a = await open({ clock: { ...STILL, elapsed: () => 0 }, listen: DEAF })
    for (const token of ['first', 'second']) {
      const calls = Array.from({ length: 1000 }, (_, n) => register(a, `N${n}`, { pushToken: token + n }))
      const kinds = new Set((await Promise.all(calls)).map(({ kind }) => kind))
      expect([...kinds]).to.deep.equal([token === 'first' ? 'created' : 'refreshed'])
    }
    expect(await oneRow("SELECT count(*)::int AS devices FROM device WHERE push_token LIKE 'second%'")).to.deep.equal({
      devices: 1000,
    })
    expect(await oneRow('SELECT station_count FROM clock')).to.deep.equal({ station_count: 1000 })
  })

  // Shows: sidecar P1.15.
  it('simultaneous registrations have the same outcomes as sequential registrations', async () => {
    const settings: StoreSettings = {
      ...SETTINGS,
      stations: { ...SETTINGS.stations, max: 4 },
      rateLimit: { ...SETTINGS.rateLimit, newStationsPerHour: 6 },
    }
    const avatar = fc
      .constantFrom(undefined, '', 'car')
      .map((icon) => (icon === undefined ? undefined : { icon: `${icon}`, image: '', hash: `${icon}` }))
    const calls = fc.record({
      key: fc.constantFrom<string[]>('A1A', 'B1B', 'C1C', 'D1D', 'E1E'),
      deviceId: fc.constantFrom<string[]>('', 'tablet'),
      pushToken: fc.constantFrom<string[]>('one', 'two'),
      client: fc.constantFrom<string[]>('192.0.2.1', '192.0.2.2'),
      avatar,
    })
    const outcomesOf = async (batches: readonly (readonly Registration[])[]) => {
      await suiteDatabase.tables(3)
      const registry = await open({ listen: DEAF, settings })
      const outcomes: RegisterOutcome[] = []
      for (const batch of batches) outcomes.push(...(await Promise.all(batch.map(registry.register))))
      const tables = await suiteDatabase.run(`SELECT station, key, push_token, token_dead, icon FROM device
        LEFT JOIN avatar USING (station) ORDER BY key`)
      const counts = await suiteDatabase.run('SELECT station_count FROM clock')
      // Connections of all runs together would be more than the server takes.
      for (const close of suiteDatabase.closing.splice(0).reverse()) await close()
      return { outcomes: outcomes.map(withoutTimes), tables, counts }
    }
    // Regression: A1A and C1C register for the last place in one SQL statement. The station that the query plan read
    // first got it.
    const from = (key: string, deviceId: string, pushToken: string, client: number) => ({
      key,
      deviceId,
      pushToken,
      client: `192.0.2.${client}`,
      avatar: undefined,
    })
    const LAST_PLACE = [
      from('B1B', 'tablet', 'two', 1),
      from('B1B', '', 'one', 2),
      from('E1E', 'tablet', 'one', 2),
      from('B1B', '', 'two', 2),
      from('B1B', 'tablet', 'one', 1),
      from('D1D', '', 'two', 2),
      from('D1D', 'tablet', 'one', 1),
      from('A1A', '', 'one', 2),
      from('B1B', 'tablet', 'one', 2),
      from('C1C', '', 'two', 2),
      from('B1B', '', 'two', 2),
    ]
    await fc.assert(
      fc.asyncProperty(fc.array(calls, { minLength: 2, maxLength: 12 }), async (input) => {
        const registrations = input.map(({ avatar: uploaded, ...changes }) =>
          registration(changes.key, { ...changes, ...(uploaded && { avatar: uploaded }) }),
        )
        const together = await outcomesOf([registrations])
        expect(together).to.deep.equal(await outcomesOf(registrations.map((alone) => [alone])))
        expect(together.counts[0]?.station_count).to.be.at.most(4)
      }),
      { numRuns: 8, endOnFailure: true, examples: [[LAST_PLACE]] },
    )
  })

  it('a repeated registration replaces a push token that another instance stored', async () => {
    const [a, b] = [await open({ listen: DEAF }), await open({ listen: DEAF })]
    await register(a, 'N0CALL', { pushToken: 'first' })
    await register(b, 'N0CALL', { pushToken: 'second' })
    expect((await register(a, 'N0CALL', { pushToken: 'first' })).kind).to.equal('refreshed')
    expect(await oneRow("SELECT push_token FROM device WHERE key = 'N0CALL'")).to.include({
      push_token: 'first',
    })
  })

  it('an unchanged heartbeat is written at most hourly, and no instance is notified', async () => {
    const a = await open({ listen: DEAF })
    await register(a, 'N0CALL')
    const state = () => oneRow('SELECT last_seen_at, device.xmin::text, last FROM device, clock')
    const first = await state()
    await register(a, 'N0CALL')
    expect(await state()).to.deep.equal(first)
    await suiteDatabase.run('UPDATE device SET last_seen_at = last_seen_at - 3600001')
    await register(a, 'N0CALL')
    const later = await state()
    expect(Number(later?.last_seen_at)).to.be.at.least(Number(first?.last_seen_at))
    expect(later?.last).to.equal(first?.last)
  })

  it('stores tokens and icons with NUL characters, which PostgreSQL text cannot hold', async () => {
    const a = await open({ listen: DEAF })
    const strange = { pushToken: 'a\0b', avatar: { icon: 'c\0d', image: '', hash: 'icon:x' } }
    expect((await register(a, 'N0CALL', strange)).kind).to.equal('created')
    expect((await register(a, 'N0CALL', strange)).kind).to.equal('refreshed')
    expect(await oneRow('SELECT push_token FROM device')).to.deep.equal({ push_token: 'a\uFFFDb' })
    expect(await oneRow('SELECT count(*)::int AS changes FROM station_change')).to.deep.equal({
      changes: 1,
    })
  })

  it('removing a station deletes its rows in all PostgreSQL tables', async () => {
    const a = await open({ listen: DEAF })
    await register(a, 'N0CALL', { avatar: { icon: 'car', image: '', hash: 'icon:car' } })
    await suiteDatabase.run(`SELECT make_rings('{N0CALL}', 3);
       INSERT INTO push_due (station, newest, oldest_at, due_at) VALUES ('N0CALL', 1, 1, 1);
       INSERT INTO dropped (station, identity, received_at) VALUES ('N0CALL', '', 1)`)
    const tables = ['station', 'device', 'ring', 'avatar', 'push_due', 'dropped']
    const counts = tables.map((table) => `(SELECT count(*)::int FROM ${table}) AS ${table}`)
    const rows = async () => Object.values((await oneRow(`SELECT ${counts.join()}`)) ?? {})
    expect(await rows()).to.deep.equal([1, 1, 3, 1, 1, 1])
    await a.remove('N0CALL')
    expect(await rows()).to.deep.equal([0, 0, 0, 0, 0, 0])
  })

  it('simultaneous registrations at several instances get distinct stamps', async () => {
    const instances = [await open({ listen: DEAF }), await open({ listen: DEAF }), await open({ listen: DEAF })]
    await Promise.all(
      instances.flatMap((instance, i) => Array.from({ length: 20 }, (_, n) => register(instance, `N${i}X${n}`))),
    )
    const row = await oneRow(
      `SELECT count(*)::int AS stations, count(DISTINCT registered_at)::int AS stamps,
         bool_and(registered_at <= last) AS seen, (SELECT count(*)::int FROM station_change) AS changes
       FROM station, clock`,
    )
    expect(row).to.deep.equal({ stations: 60, stamps: 60, seen: true, changes: 60 })
  })

  it("limits a client's new stations per hour across all instances together", async () => {
    const settings = { ...SETTINGS, rateLimit: { ...SETTINGS.rateLimit, newStationsPerHour: 5 } }
    const instances = [await open({ listen: DEAF, settings }), await open({ listen: DEAF, settings })]
    const outcomes = await Promise.all(
      instances.flatMap((instance, i) => Array.from({ length: 10 }, (_, n) => register(instance, `N${i}X${n}`))),
    )
    expect(outcomes.filter(({ kind }) => kind === 'created').length).to.equal(5)
    expect(outcomes.filter(({ kind }) => kind === 'limited').length).to.equal(15)
    expect(await oneRow('SELECT count(*)::int AS rows FROM new_station')).to.deep.equal({ rows: 5 })
    await suiteDatabase.run('UPDATE new_station SET at = at - 3600000')
    expect((await register(instances[0] as Registry, 'N9CALL')).kind).to.equal('created')
    expect(await oneRow('SELECT count(*)::int AS rows FROM new_station')).to.deep.equal({ rows: 1 })
  })

  for (const [name, happens] of [
    ['changes were pruned', 'last = last + 1, changes_since = last + 1'],
    ['the database went back', 'last = last - 1000'],
  ] as const)
    it(`without NOTIFY, polls each second and rereads all stations if ${name}`, async () => {
      const [a, b] = [await open({ listen: DEAF }), await open({ clock: HASTY, listen: DEAF })]
      await register(a, 'N0CALL')
      await until(b, () => b.size === 1)
      await suiteDatabase.run(`DELETE FROM station; UPDATE clock SET ${happens}`)
      await until(b, () => b.size === 0)
    })
})

/** Omits times. Unites the two kinds of refusal, because either is valid if both limits are exceeded. */
function withoutTimes(outcome: RegisterOutcome) {
  if (!('station' in outcome)) return outcome.kind === 'full' ? 'limited' : outcome.kind
  const { key, devices, avatar } = outcome.station
  return [outcome.kind, key, devices.map(({ id, pushToken, tokenDead }) => [id, pushToken, tokenDead]), avatar.state]
}
