import { expect } from 'chai'
import type { Avatar, AvatarUpload, Store } from '../../../../sidecar/messages/store.ts'
import { append, message, newer, register, registration, SETTINGS } from '../sqlite/temporary-stores.ts'
import type { ContractStores } from './stores.ts'

const HOUR = 3_600_000
const CAR: AvatarUpload = { icon: 'car', image: '', hash: 'icon:car' }
const PHOTO: AvatarUpload = { icon: 'user', image: 'iVBORw0KGgo=', hash: 'ab'.repeat(32) }
const NOTHING: AvatarUpload = { icon: '', image: '', hash: '' }

/** The contract of every registry. Call it inside a `describe`. */
export function stationsContract(stores: ContractStores): void {
  let store: Store
  beforeEach(async () => {
    store = await stores.open()
  })

  async function reopened(settings = {}): Promise<Store> {
    await store.close()
    store = await stores.open(settings)
    return store
  }

  const avatarOf = (key: string) => store.stations.get(key)?.avatar
  const kindOf = async (key: string, changes = {}) => (await store.stations.register(registration(key, changes))).kind

  // Shows: sidecar 9.1.
  it('creates a station at its first registration and updates it at the next', async () => {
    const startMs = stores.now()
    const first = await store.stations.register(registration('N0CALL'))
    expect(first.kind).to.equal('created')
    expect(await kindOf('N0CALL')).to.equal('refreshed')
    const station = store.stations.get('N0CALL')
    expect(station).to.deep.include({ key: 'N0CALL', avatar: { state: 'never' } })
    expect(station?.devices[0]).to.deep.include({
      id: '',
      platform: 'android',
      pushToken: 'token-of-N0CALL',
      tokenDead: false,
      ackMessages: false,
      registeredAt: station?.registeredAt,
    })
    expect(station?.devices[0]?.lastSeenAt).to.equal(startMs)
    expect(first).to.have.nested.property('station.registeredAt', station?.registeredAt)
  })

  it('finds a station as soon as it registers, and no longer once it is removed', async () => {
    await register(store, 'N0CALL')
    expect(await store.stations.find('N0CALL')).to.deep.equal(store.stations.get('N0CALL'))
    expect(await store.stations.find('K9NONE')).to.equal(undefined)
    await store.stations.remove('N0CALL')
    expect(await store.stations.find('N0CALL')).to.equal(undefined)
  })

  // Shows: sidecar 2.1, 11.17, C1.12.
  it('registering again updates token, platform and ackMessages, not registeredAt', async () => {
    const [first] = await register(store, 'N0CALL')
    await stores.shift(5)
    const changes = { platform: 'ios', pushToken: 'new', ackMessages: true } as const
    await store.stations.register(registration('N0CALL', changes))
    await reopened()
    expect(store.stations.get('N0CALL')?.devices[0]).to.deep.include(changes)
    expect(first).to.have.nested.property('station.registeredAt', store.stations.get('N0CALL')?.registeredAt)
  })

  it('simultaneous registrations cannot exceed the station limit; updates succeed', async () => {
    await reopened({ stations: { ...SETTINGS.stations, max: 2 } })
    const outcomes = await register(store, 'A', 'B', 'C', 'D')
    expect(outcomes.map(({ kind }) => kind).sort()).to.deep.equal(['created', 'created', 'full', 'full'])
    const [first = '', second = ''] = store.stations.keys()
    expect(await kindOf(first, { pushToken: 'new' })).to.equal('refreshed')
    expect(await store.stations.register(registration('E', { avatar: PHOTO }))).to.deep.equal({ kind: 'full' })
    await store.stations.remove(first)
    expect(await kindOf('E')).to.equal('created')
    expect([...store.stations.keys()].sort()).to.deep.equal([second, 'E'].sort())
  })

  describe('A full registry of stations', () => {
    const full = { stations: { ...SETTINGS.stations, max: 3 } }
    const keys = () => [...store.stations.keys()].sort()
    const displacedBy = async (key: string) => {
      const outcome = await store.stations.register(registration(key))
      return outcome.kind === 'created' ? outcome.displaced : outcome.kind
    }
    beforeEach(async () => {
      await reopened(full)
      for (const key of ['K1OLD', 'K2OLD', 'K3OLD']) {
        await register(store, key)
        await stores.shift(1000)
      }
    })

    // Shows: sidecar C13.20.
    it('a full registry replaces the oldest station that sent only one request, 1 h ago', async () => {
      expect(await displacedBy('K4NEW')).to.equal('full')
      await stores.shift(HOUR)
      await append(store, message('to the oldest', { to: 'K1OLD' }))
      expect(await displacedBy('K4NEW')).to.equal('K1OLD')
      await reopened(full)
      expect(await displacedBy('K5NEW')).to.equal('K2OLD')
      expect(keys()).to.deep.equal(['K3OLD', 'K4NEW', 'K5NEW'])
      expect(await store.stations.find('K1OLD')).to.equal(undefined)
      expect(await displacedBy('K6NEW')).to.equal('K3OLD')
      // The remaining stations registered less than an hour ago.
      expect(await displacedBy('K7NEW')).to.equal('full')
      await stores.shift(HOUR + 1000)
      expect(await displacedBy('K1OLD')).to.equal('K4NEW')
      expect((await newer(store, 'K1OLD', 0)).messages).to.deep.equal([])
    })

    // Shows: sidecar C13.20.
    it('a full registry keeps stations that registered twice, added a device or synced', async () => {
      await register(store, 'K1OLD')
      await store.stations.register(registration('K2OLD', { deviceId: 'another' }))
      store.stations.prove('K3OLD')
      await stores.shift(HOUR)
      expect(await displacedBy('K4NEW')).to.equal('full')
      await reopened(full)
      expect(await displacedBy('K4NEW')).to.equal('full')
      expect(keys()).to.deep.equal(['K1OLD', 'K2OLD', 'K3OLD'])
    })

    it('a removed station that registers again loses its protection from replacement', async () => {
      store.stations.prove('K2OLD')
      await register(store, 'K1OLD', 'K3OLD')
      await store.stations.remove('K2OLD')
      await register(store, 'K2OLD')
      await stores.shift(HOUR + 1000)
      expect(await displacedBy('K4NEW')).to.equal('K2OLD')
    })

    it('replaces no station if stations.max was lowered below the number of stations', async () => {
      await stores.shift(HOUR)
      await reopened({ stations: { ...SETTINGS.stations, max: 2 } })
      expect(await displacedBy('K4NEW')).to.equal('full')
      expect(keys()).to.have.length(3)
    })

    it('simultaneous new stations in a full registry each replace a different station', async () => {
      await stores.shift(HOUR)
      const displaced = await Promise.all(['K4NEW', 'K5NEW', 'K6NEW', 'K7NEW'].map(displacedBy))
      expect(displaced).to.have.members(['K1OLD', 'K2OLD', 'K3OLD', 'full'])
      expect(keys()).to.have.length(3)
    })
  })

  it('limits the new stations of each client per hour, independently of other clients', async () => {
    await reopened({ rateLimit: { ...SETTINGS.rateLimit, newStationsPerHour: 2 } })
    const client = '192.0.2.7'
    for (const key of ['A', 'B']) expect(await kindOf(key, { client })).to.equal('created')
    expect(await store.stations.register(registration('C', { client, avatar: CAR }))).to.deep.equal({ kind: 'limited' })
    expect(await store.stations.find('C')).to.equal(undefined)
    expect(store.stations.size).to.equal(2)
    expect(await kindOf('A', { client, pushToken: 'new' })).to.equal('refreshed')
    expect(await kindOf('C', { client: '192.0.2.8' })).to.equal('created')
    await stores.shift(HOUR)
    expect(await kindOf('D', { client })).to.equal('created')
  })

  // Shows: sidecar 6.1, 9.2, 14.2, C2.5.
  it('removing a station removes its history and its avatar', async () => {
    await store.stations.register(registration('N0CALL', { avatar: PHOTO }))
    await append(store, 'hello')
    expect(await store.stations.remove('N0CALL')).to.equal('station')
    expect(await store.stations.remove('N0CALL')).to.equal('none')
    expect(store.stations.get('N0CALL')).to.equal(undefined)
    await register(store, 'N0CALL')
    expect((await newer(store, 'N0CALL')).messages).to.deep.equal([])
    expect(avatarOf('N0CALL')).to.deep.equal({ state: 'never' })
    expect((await store.stations.avatars(['N0CALL'])).size).to.equal(0)
  })

  // Shows: sidecar 2.14, 11.18, 15.3, C2.6, C7.7.
  it('notifies listeners if a station is added or removed, but not if it is updated', async () => {
    const sizes: number[] = []
    store.stations.onChange(() => {
      throw new Error('a listener at fault')
    })
    store.stations.onChange(() => sizes.push(store.stations.size))
    await register(store, 'A')
    await register(store, 'A')
    await store.stations.register(registration('A', { pushToken: 'new' }))
    await store.stations.remove('B')
    await store.stations.remove('A')
    expect(sizes).to.deep.equal([1, 0])
    expect(stores.lines.map((line) => line.event)).to.deep.equal(['station-listener-failed', 'station-listener-failed'])
  })

  it('removes a station only if it was last seen before seenBeforeMs', async () => {
    await register(store, 'N0CALL')
    const seenAt = store.stations.get('N0CALL')?.devices[0]?.lastSeenAt ?? 0
    expect(await store.stations.remove('N0CALL', { seenBeforeMs: seenAt })).to.equal('none')
    expect(await store.stations.remove('N0CALL', { seenBeforeMs: seenAt + 1 })).to.equal('station')
  })

  // Shows: sidecar C9.7.
  it('registering the same or another push token revives a device with a dead token', async () => {
    await register(store, 'N0CALL')
    for (const pushToken of ['token-of-N0CALL', 'new']) {
      await store.stations.markTokenDead('N0CALL', '', 'token-of-N0CALL')
      await store.stations.register(registration('N0CALL', { pushToken }))
      expect(store.stations.get('N0CALL')?.devices[0]).to.deep.include({ pushToken, tokenDead: false })
      expect((await reopened()).stations.get('N0CALL')?.devices[0]).to.deep.include({ pushToken, tokenDead: false })
    }
  })

  describe('The avatars of stations', () => {
    async function upload(avatar?: AvatarUpload): Promise<Avatar | undefined> {
      await stores.shift(1000)
      await store.stations.register(registration('N0CALL', avatar ? { avatar } : {}))
      const inMemory = avatarOf('N0CALL')
      await reopened()
      expect(avatarOf('N0CALL')).to.deep.equal(inMemory)
      return inMemory
    }

    async function changed(avatar: AvatarUpload, expected: object): Promise<Avatar | undefined> {
      const avatarAnswer = await upload(avatar)
      expect(avatarAnswer).to.deep.include(expected)
      expect(avatarAnswer && 'updatedAt' in avatarAnswer ? avatarAnswer.updatedAt : 0).to.equal(stores.now())
      return avatarAnswer
    }

    // Shows: sidecar 5.11.
    it('reports whether an avatar was never set, is set, was changed or was cleared', async () => {
      expect(await upload(NOTHING)).to.deep.equal({ state: 'never' })
      expect(await upload()).to.deep.equal({ state: 'never' })
      const car = await changed(CAR, { state: 'set', icon: 'car', hash: 'icon:car' })
      expect(await upload()).to.deep.equal(car)
      await changed(PHOTO, { state: 'set', icon: 'user', hash: PHOTO.hash })
      const cleared = await changed(NOTHING, { state: 'cleared' })
      expect(await upload(NOTHING)).to.deep.equal(cleared)
      await changed(CAR, { state: 'set', icon: 'car' })
    })

    it('an avatar keeps its update time if the same avatar is uploaded or cleared again', async () => {
      for (const avatar of [PHOTO, NOTHING]) {
        const first = await upload(avatar)
        await stores.shift(1000)
        await store.stations.register(registration('N0CALL', { pushToken: `${avatar.icon}-new`, avatar }))
        expect(avatarOf('N0CALL')).to.deep.equal(first)
      }
    })

    it('returns the full avatars of those requested stations that have one', async () => {
      await store.stations.register(registration('A', { avatar: PHOTO }))
      await store.stations.register(registration('B', { avatar: CAR }))
      await store.stations.register(registration('C', { avatar: CAR }))
      await store.stations.register(registration('C', { avatar: NOTHING }))
      await register(store, 'D')
      const avatars = await store.stations.avatars(['A', 'B', 'C', 'D', 'E', 'A'])
      expect([...avatars].sort(([a], [b]) => (a < b ? -1 : 1))).to.deep.equal([
        ['A', PHOTO],
        ['B', CAR],
      ])
    })

    it('counts an avatar change only if other stations can see a difference', async () => {
      const counts = [store.stations.avatarChanges]
      const note = () => counts.push(store.stations.avatarChanges) && (counts.at(-1) ?? 0) > (counts.at(-2) ?? 0)
      await register(store, 'N0CALL')
      expect(note()).to.equal(false)
      await store.stations.register(registration('N0CALL', { avatar: CAR }))
      expect(note()).to.equal(true)
      await store.stations.register(registration('N0CALL', { avatar: CAR, pushToken: 'new' }))
      expect(note()).to.equal(false)
      await store.stations.remove('N0CALL')
      expect(note()).to.equal(true)
    })
  })
}
