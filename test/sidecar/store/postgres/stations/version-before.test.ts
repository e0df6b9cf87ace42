import { expect } from 'chai'
import type { Store } from '../../../../../sidecar/messages/store.ts'
import { migrate } from '../../../../../sidecar/store/postgres/schema/migrations.ts'
import { MIGRATIONS } from '../../../../../sidecar/store/postgres/schema/schema.ts'
import { append, held, message, registration, SETTINGS } from '../../sqlite/temporary-stores.ts'
import { postgresStores } from '../postgres-stores.ts'

const IPHONE = { id: '', platform: 'ios', pushToken: 'its token', tokenDead: false, ackMessages: true }

const STEPS_BEFORE = 3
const NEVER = Number.MAX_SAFE_INTEGER
const ROOM = { android: 10, ios: 10, webpush: 10 }

/**
 * What 0.2.0 has of a station that acknowledges, was told of one message and not of the other, and whose phone has
 * brought a cursor.
 */
const WRITTEN = `
  UPDATE clock SET last = 40, per_station = 2, station_count = 2;
  INSERT INTO station VALUES ('N0CALL', 'ios', 'its token', false, true, 10, 5, 20, 20, 0), ('N1CALL', 'android', 'dead', true, true, 11, 6, 11, 0, 0);
  INSERT INTO ring SELECT key, 0, CASE key WHEN 'N0CALL' THEN 20 ELSE 0 END, 'W1AW', '1', 'told', 'a', 20 FROM station;
  INSERT INTO ring SELECT key, 1, CASE key WHEN 'N0CALL' THEN 30 ELSE 0 END, 'W1AW', '2', 'not told', 'b', 30 FROM station;
  INSERT INTO push_due (station, newest, oldest_at, due_at) VALUES ('N0CALL', 30, 30, 30);
`

// As 0.2.0 asks.
const OLD = {
  register: `SELECT kind, version, registered_at AS "registeredAt", written_at AS "writtenAt", now, icon, hash, updated_at AS "updatedAt"
    FROM register_station('N0CALL', 'android', 'from before', true, NULL, NULL, NULL, 100, '192.0.2.1', 100)`,
  remove: `SELECT remove_station('N0CALL', ${NEVER}) AS version`,
  markTokenDead: "SELECT mark_token_dead('N0CALL', 'from before') AS version",
  claim: `SELECT station AS key, platform, push_token AS "pushToken", token_dead AS "tokenDead", lease_until AS lease, tries, refusals,
      since_first_try AS "firstTryMs", waited AS "waitedMs", count, time, source, seq_id AS "seqId", text
    FROM claim_pushes('old', ARRAY['android', 'ios', 'webpush'], ARRAY[10, 10, 10], 30000)`,
}

describe('What 0.2.0 has made in PostgreSQL', () => {
  const stores = postgresStores()
  const { run } = stores
  const open = () => stores.open({ history: { ...SETTINGS.history, perStation: 2 } })

  async function opened(): Promise<Store> {
    await run('DROP SCHEMA mesh_companion CASCADE')
    const postgres = await stores.connect()
    await migrate(postgres, MIGRATIONS.slice(0, STEPS_BEFORE))
    await run(WRITTEN)
    return open()
  }

  it('goes over with nothing lost: each station has one device, with its token, cursor, ack wish and what it is to be told of', async () => {
    const store = await opened()
    expect(store.stations.get('N0CALL')).to.deep.include({
      registeredAt: 10,
      devices: [{ ...IPHONE, registeredAt: 10, lastSeenAt: 5 }],
    })
    expect(store.stations.get('N1CALL')?.devices).to.have.nested.property('[0].tokenDead', true)
    expect(await store.cursors.stampFor('N0CALL', '')).to.equal(10)
    expect(await held(store)).to.deep.equal(['told', 'not told'])
    const claims = await store.pushes.claim(ROOM)
    expect(claims.map(({ station, device, unpushed }) => [station, device.id, unpushed.count])).to.deep.equal([
      ['N0CALL', '', 1],
    ])
  })

  describe('while its instances go on', () => {
    let store: Store
    beforeEach(async () => {
      store = await opened()
      await store.stations.register(registration('N0CALL', { deviceId: 'tablet', pushToken: 'of the tablet' }))
    })
    const devices = async () => {
      const rows = await run('SELECT key, push_token, token_dead FROM device ORDER BY key')
      return rows.map(({ key, push_token: token, token_dead: dead }) => `${key}: ${token}${dead ? ', dead' : ''}`)
    }

    it('is registered, marked and removed by them as the device without an id, and no other', async () => {
      expect((await run(OLD.register))[0]).to.include({ kind: 'refreshed', registeredAt: '10' })
      const others = ['N0CALL tablet: of the tablet', 'N1CALL: dead, dead']
      expect(await devices()).to.deep.equal(['N0CALL: from before', ...others])
      await run(OLD.markTokenDead)
      expect((await devices())[0]).to.equal('N0CALL: from before, dead')
      await run(OLD.remove)
      expect(await devices()).to.deep.equal(others)
      expect((await run(OLD.remove))[0]).to.deep.equal({ version: null })
    })

    it('is claimed and settled by them for devices without an id, and left to others for the rest', async () => {
      await append(store, message('for both', { seqId: '3' }))
      await run('UPDATE push_due SET due_at = 0')
      const [claim, ...others] = await run(OLD.claim)
      expect([claim?.key, claim?.pushToken, claim?.count, others]).to.deep.equal(['N0CALL', 'its token', '2', []])
      await run(
        `SELECT station, due_in FROM settle_pushes('old', '{N0CALL}', '{${claim?.time}}', '{${claim?.lease}}', 2000)`,
      )
      const claims = await store.pushes.claim(ROOM)
      expect(claims.map(({ device, unpushed }) => [device.id, unpushed.count])).to.deep.equal([['tablet', 1]])
      expect((await run('SELECT count(*)::int AS left FROM push_due'))[0]).to.deep.equal({ left: 1 })
    })
  })
})
