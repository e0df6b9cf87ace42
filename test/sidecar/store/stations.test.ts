import { expect } from 'chai'
import type { AvatarUpload, Store } from '../../../sidecar/messages/store.ts'
import { message, newer, register, registration, temporaryStores } from './temporary-stores.ts'

const HOUR = 3_600_000
const CAR: AvatarUpload = { icon: 'car', image: '', hash: 'icon:car' }
const PHOTO: AvatarUpload = { icon: 'user', image: 'iVBORw0KGgo=', hash: 'ab'.repeat(32) }
const NOTHING: AvatarUpload = { icon: '', image: '', hash: '' }

describe('The registry', () => {
  const stores = temporaryStores()
  let store: Store
  beforeEach(async () => {
    store = await stores.open()
  })

  async function reopened(): Promise<Store> {
    await store.close()
    store = await stores.open()
    return store
  }

  const avatarOf = (key: string) => store.stations.get(key)?.avatar

  it('creates a station at its first registration and refreshes it at the next', async () => {
    const [first, second] = await register(store, 'N0CALL', 'N0CALL')
    expect(first?.kind).to.equal('created')
    expect(second?.kind).to.equal('refreshed')
    const station = store.stations.get('N0CALL')
    expect(station).to.deep.include({
      key: 'N0CALL',
      platform: 'android',
      pushToken: 'token-of-N0CALL',
      tokenDead: false,
      ackMessages: false,
      lastSeenAt: stores.clock.now(),
      avatar: { state: 'never' },
    })
    expect(first).to.have.nested.property('station.registeredAt', station?.registeredAt)
  })

  it('takes over token, platform and ack wish, and keeps the time of the first registration', async () => {
    const [first] = await register(store, 'N0CALL')
    stores.clock.set(stores.clock.now() + 5)
    const changes = { platform: 'ios', pushToken: 'new', ackMessages: true } as const
    await store.stations.register(registration('N0CALL', changes))
    await reopened()
    expect(store.stations.get('N0CALL')).to.deep.include(changes)
    expect(first).to.have.nested.property('station.registeredAt', store.stations.get('N0CALL')?.registeredAt)
  })

  it('refuses new stations when it is full, within one transaction too, but refreshes the known', async () => {
    await store.close()
    store = await stores.open({ stations: { max: 2 } })
    const outcomes = await register(store, 'A', 'B', 'C', 'A')
    expect(outcomes.map((outcome) => outcome.kind)).to.deep.equal(['created', 'created', 'full', 'refreshed'])
    expect((await store.stations.register(registration('B', { pushToken: 'new' }))).kind).to.equal('refreshed')
    const rejected = await store.stations.register(registration('C', { avatar: PHOTO }))
    expect(rejected).to.deep.equal({ kind: 'full' })
    await store.stations.remove('A')
    expect((await register(store, 'C'))[0]?.kind).to.equal('created')
    expect([...store.stations.keys()].sort()).to.deep.equal(['B', 'C'])
  })

  it('counts stations by platform', async () => {
    await register(store, 'A', 'B')
    await store.stations.register(registration('C', { platform: 'ios' }))
    expect(store.stations.countByPlatform()).to.deep.equal({ android: 2, ios: 1, webpush: 0 })
    expect(store.stations.size).to.equal(3)
    await store.stations.register(registration('A', { platform: 'ios', avatar: PHOTO }))
    await store.stations.remove('B')
    expect(store.stations.countByPlatform()).to.deep.equal({ android: 0, ios: 2, webpush: 0 })
    await reopened()
    expect(store.stations.countByPlatform()).to.deep.equal({ android: 0, ios: 2, webpush: 0 })
  })

  it('removes a station with its history and its avatar', async () => {
    await store.stations.register(registration('N0CALL', { avatar: PHOTO }))
    await store.history.append([message('hello')], false)
    expect(await store.stations.remove('N0CALL')).to.equal(true)
    expect(await store.stations.remove('N0CALL')).to.equal(false)
    expect(store.stations.get('N0CALL')).to.equal(undefined)
    await register(store, 'N0CALL')
    expect((await newer(store, 'N0CALL')).messages).to.deep.equal([])
    expect(avatarOf('N0CALL')).to.deep.equal({ state: 'never' })
    expect((await store.stations.avatars(['N0CALL'])).size).to.equal(0)
  })

  it('tells listeners once a station was added or removed, and not at a refresh', async () => {
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

  describe('at a heartbeat that brings nothing new', () => {
    it('writes the time of the last sign of life once an hour', async () => {
      await store.stations.register(registration('N0CALL', { avatar: CAR }))
      const start = stores.clock.now()
      const onDiskAfter = async (ms: number) => {
        stores.clock.set(start + ms)
        const outcome = await store.stations.register(registration('N0CALL', { avatar: CAR }))
        expect(outcome).to.have.nested.property('station.lastSeenAt', start + ms)
        expect(store.stations.get('N0CALL')?.lastSeenAt).to.equal(start + ms)
        return (await reopened()).stations.get('N0CALL')?.lastSeenAt
      }
      expect(await onDiskAfter(HOUR)).to.equal(start)
      expect(await onDiskAfter(HOUR + 1)).to.equal(start + HOUR + 1)
    })

    it('takes a time back that a wrong clock wrote', async () => {
      const start = stores.clock.now()
      stores.clock.set(start + 1000 * HOUR)
      await register(store, 'N0CALL')
      stores.clock.set(start)
      await register(store, 'N0CALL')
      expect((await reopened()).stations.get('N0CALL')?.lastSeenAt).to.equal(start)
    })

    it('comes after a removal that is on its way', async () => {
      await register(store, 'N0CALL')
      const removal = store.stations.remove('N0CALL')
      const [heartbeat] = await register(store, 'N0CALL')
      expect(await removal).to.equal(true)
      expect(heartbeat?.kind).to.equal('created')
      expect(store.stations.get('N0CALL')).not.to.equal(undefined)
    })
  })

  describe('of push tokens', () => {
    it('marks a token dead, and keeps that over a restart', async () => {
      await register(store, 'N0CALL')
      await store.stations.markTokenDead('N0CALL', 'token-of-N0CALL')
      expect(store.stations.get('N0CALL')?.tokenDead).to.equal(true)
      expect((await reopened()).stations.get('N0CALL')?.tokenDead).to.equal(true)
    })

    it('leaves a station alone that has another token by now, or is gone', async () => {
      await store.stations.register(registration('N0CALL', { pushToken: 'new' }))
      await store.stations.markTokenDead('N0CALL', 'old')
      await store.stations.markTokenDead('W1AW', 'old')
      expect(store.stations.get('N0CALL')?.tokenDead).to.equal(false)
      expect(store.stations.get('W1AW')).to.equal(undefined)
    })

    it('revives a token when the station registers the same or another', async () => {
      await register(store, 'N0CALL')
      for (const pushToken of ['token-of-N0CALL', 'new']) {
        await store.stations.markTokenDead('N0CALL', 'token-of-N0CALL')
        await store.stations.register(registration('N0CALL', { pushToken }))
        expect(store.stations.get('N0CALL')).to.deep.include({ pushToken, tokenDead: false })
        expect((await reopened()).stations.get('N0CALL')).to.deep.include({ pushToken, tokenDead: false })
      }
    })
  })

  describe('of avatars', () => {
    async function upload(avatar?: AvatarUpload) {
      stores.clock.set(stores.clock.now() + 1000)
      await store.stations.register(registration('N0CALL', avatar ? { avatar } : {}))
      const inMemory = avatarOf('N0CALL')
      await reopened()
      expect(avatarOf('N0CALL')).to.deep.equal(inMemory)
      return inMemory
    }

    it('knows one that was never set from one that was set, changed and cleared', async () => {
      expect(await upload(NOTHING)).to.deep.equal({ state: 'never' })
      expect(await upload()).to.deep.equal({ state: 'never' })
      const setAt = stores.clock.now() + 1000
      expect(await upload(CAR)).to.deep.equal({ state: 'set', icon: 'car', hash: 'icon:car', updatedAt: setAt })
      expect(await upload()).to.deep.equal({ state: 'set', icon: 'car', hash: 'icon:car', updatedAt: setAt })
      const changedAt = stores.clock.now() + 1000
      expect(await upload(PHOTO)).to.deep.equal({ state: 'set', icon: 'user', hash: PHOTO.hash, updatedAt: changedAt })
      const clearedAt = stores.clock.now() + 1000
      expect(await upload(NOTHING)).to.deep.equal({ state: 'cleared', updatedAt: clearedAt })
      expect(await upload(NOTHING)).to.deep.equal({ state: 'cleared', updatedAt: clearedAt })
      expect(await upload(CAR)).to.deep.include({ state: 'set', icon: 'car' })
    })

    it('keeps the update time when a client uploads, or clears, the same again', async () => {
      for (const avatar of [PHOTO, NOTHING]) {
        const first = await upload(avatar)
        stores.clock.set(stores.clock.now() + 1000)
        await store.stations.register(registration('N0CALL', { pushToken: `${avatar.icon}-new`, avatar }))
        expect(avatarOf('N0CALL')).to.deep.equal(first)
      }
    })

    it('hands out the full ones of those stations that have one', async () => {
      await store.stations.register(registration('A', { avatar: PHOTO }))
      await store.stations.register(registration('B', { avatar: CAR }))
      await store.stations.register(registration('C', { avatar: CAR }))
      await store.stations.register(registration('C', { avatar: NOTHING }))
      await register(store, 'D')
      const avatars = await store.stations.avatars(['A', 'B', 'C', 'D', 'E', 'A'])
      expect([...avatars]).to.deep.equal([
        ['A', PHOTO],
        ['B', CAR],
      ])
    })
  })
})
