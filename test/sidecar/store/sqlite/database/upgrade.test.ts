import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { connect } from '../../../../../sidecar/store/sqlite/database/connection.ts'
import { MIGRATIONS, migrate, schemaVersion } from '../../../../../sidecar/store/sqlite/database/migrations.ts'
import { append, held, message, newer, registration, SETTINGS, temporaryStores } from '../temporary-stores.ts'

const asWritten = (version: number) => readFileSync(new URL(`./version-${version}.sql`, import.meta.url), 'utf8')
const PHONE = { id: '', platform: 'android', pushToken: 'token-of-N0CALL', tokenDead: false, ackMessages: true }

for (const version of [1, 2, 4, 5]) {
  describe(`A database that version ${version} wrote`, () => {
    const stores = temporaryStores()
    beforeEach(async () => {
      const file = await connect(stores.path(), 0)
      await file.exec(asWritten(version))
      await file.close()
      stores.clock.set(1_700_000_060_000)
    })

    // Shows: sidecar C8.5, C16.13.
    it('opens with all its stations, avatars and messages, and in the newest version', async () => {
      const { stations, history, pushes } = await stores.open()
      expect([...stations.keys()]).to.have.members(['N0CALL-7', 'N1CALL', 'N2CALL-5', 'N3CALL'])
      expect(stations.get('N0CALL-7')).to.deep.equal({
        key: 'N0CALL-7',
        registeredAt: 1_700_000_000_001,
        devices: [{ ...PHONE, registeredAt: 1_700_000_000_001, lastSeenAt: 1_700_000_050_000 }],
        avatar: {
          state: 'set',
          icon: 'dog',
          hash: '0ef61b2d7d4b3f3d6b1d0c58e1e5a1a5f2f6f4a3a7a9b1c2d3e4f5061728394a',
          updatedAt: 1_700_000_000_005,
        },
      })
      expect(stations.get('N1CALL')?.devices[0]).to.deep.include({ platform: 'ios', tokenDead: true })
      expect(stations.get('N1CALL')?.avatar).to.include({ state: 'set', hash: 'icon:cat' })
      expect(stations.get('N2CALL-5')?.avatar).to.deep.equal({ state: 'cleared', updatedAt: 1_700_000_000_007 })
      expect(stations.get('N3CALL')?.avatar).to.deep.equal({ state: 'never' })
      expect((await stations.avatars(['N0CALL-7'])).get('N0CALL-7')?.image).to.equal('iVBORw0KGgo=')

      const { messages } = await newer({ history }, 'N0CALL-7', 1_700_000_000_010)
      const sent = { from: 'W1AW', to: 'N0CALL-7', seqId: '', stamp: 1_700_000_000_012 }
      expect(messages).to.deep.equal([
        { from: 'N1CALL', to: 'N0CALL-7', seqId: 'AB}CD', text: Buffer.alloc(0), stamp: 1_700_000_000_011 },
        { ...sent, text: Buffer.from('Gr\xfc\xdfe', 'latin1') },
      ])
      const claims = await pushes.claim({ android: 10, ios: 10, webpush: 10 })
      const unpushed = Object.fromEntries(claims.map(({ station, unpushed }) => [station, unpushed.count]))
      expect(unpushed).to.have.all.keys('N0CALL-7', 'N3CALL').and.include({ 'N0CALL-7': 1 })
    })

    it('goes by the registration of a phone without an id, whatever cursor the file has', async () => {
      const { cursors } = await stores.open()
      expect(await cursors.stampFor('N0CALL-7', '')).to.equal(1_700_000_000_001)
    })

    // Shows: sidecar C8.5.
    it('goes on from there: nothing is issued, stored or told twice', async () => {
      const { history, stamps } = await stores.open()
      expect(await stamps.issue()).to.be.above(1_700_000_090_000)
      const again = message('73', { to: 'N3CALL', seqId: 'é' })
      const [known, fresh] = await append({ history }, again, { ...again, seqId: '2' })
      expect([known?.kind, fresh?.kind]).to.deep.equal(['duplicate', 'stored'])
      expect(await held({ history }, 'N3CALL')).to.deep.equal(['73', '73'])
    })

    // Shows: sidecar C14.1, C16.13.
    it('accepts further devices and platforms, and removes a station with its data', async () => {
      const { stations, history } = await stores.open()
      const registered = await stations.register({ ...registration('N4CALL'), platform: 'webpush' })
      expect(registered.kind).to.equal('created')
      expect(stations.countDevices()).to.deep.equal({ android: 2, ios: 2, webpush: 1 })
      const joining = registration('N0CALL-7', { deviceId: 'tablet', pushToken: 'another' })
      expect((await stations.register(joining)).kind).to.equal('joined')
      await stations.remove('N0CALL-7')
      await stations.register(registration('N0CALL-7'))
      expect((await newer({ history }, 'N0CALL-7')).messages).to.deep.equal([])
      expect((await stations.avatars(['N0CALL-7'])).size).to.equal(0)
    })

    if (version > 1)
      // Shows: sidecar C4.15.
      it('recognizes a copy of a dropped message without showing it, at any ring size', async () => {
        for (const perStation of [50, 100]) {
          const { history, close } = await stores.open({ history: { ...SETTINGS.history, perStation } })
          const copy = message('lost from the ring', { to: 'N3CALL', seqId: '9' })
          const [known, other] = await append({ history }, copy, { ...copy, to: 'N1CALL', seqId: `${perStation}` })
          expect([known?.kind, other?.kind]).to.deep.equal(['duplicate', 'stored'])
          expect(await held({ history }, 'N3CALL')).to.deep.equal(['73'])
          await close()
        }
      })

    // Shows: sidecar C8.6.
    it('is what its steps make, which are released: what changes comes in a further step', async () => {
      const file = await connect(stores.path(), 0)
      const made = await connect(':memory:', 0)
      try {
        await migrate(made, 0, MIGRATIONS.slice(0, version))
        const schema = 'SELECT type, name, sql FROM sqlite_schema ORDER BY name'
        expect(await made.all(schema)).to.deep.equal(await file.all(schema))
        expect(await schemaVersion(made)).to.equal(await schemaVersion(file))
      } finally {
        await Promise.all([file.close(), made.close()])
      }
    })
  })
}
