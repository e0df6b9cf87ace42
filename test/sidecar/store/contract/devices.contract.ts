import { expect } from 'chai'
import { deviceOf, MAX_DEVICES } from '../../../../sidecar/messages/station.ts'
import type { Device, Registration, Store, StoreSettings } from '../../../../sidecar/messages/store.ts'
import { append, held, message, registration, SETTINGS } from '../sqlite/temporary-stores.ts'
import type { ContractStores } from './stores.ts'

const KEY = 'N0CALL'
const WINDOW_MS = 100_000
const MARGIN_MS = 30_000
const HOUR = 3_600_000
const NEVER = new AbortController().signal
const ROOM = { android: 10, ios: 10, webpush: 10 }

/** A phone without an id, a tablet and a browser of one station. */
const DEVICES = [
  { deviceId: '', platform: 'android', pushToken: 'of the phone', ackMessages: true },
  { deviceId: 'Tablet!~', platform: 'ios', pushToken: 'of the tablet' },
  { deviceId: 'a'.repeat(64), platform: 'webpush', pushToken: 'of the browser' },
] as const
const [PHONE, TABLET, BROWSER] = DEVICES

/** The contract of stations with several devices, for every store. Call it inside a `describe`. */
export function devicesContract(stores: ContractStores): void {
  let store: Store
  let sent = 0
  const open = async (settings: Partial<StoreSettings> = {}) => {
    store = await stores.open({ push: { coalesceMs: WINDOW_MS }, ...settings })
  }
  async function reopen(settings?: Partial<StoreSettings>): Promise<void> {
    await store.close()
    await open(settings)
  }
  beforeEach(() => open())

  const register = async (changes: Partial<Registration>) =>
    (await store.stations.register(registration(KEY, changes))).kind
  async function registerAll(): Promise<void> {
    for (const device of DEVICES) await register(device)
  }
  const device = (id: string): Device | undefined => deviceOf(store.stations.get(KEY), id)
  const ids = () => store.stations.get(KEY)?.devices.map(({ id }) => id) ?? []
  const receive = async (text = `text ${++sent}`) => {
    await stores.shift(1000)
    const [outcome] = await append(store, message(text))
    await stores.shift(1000)
    return outcome?.kind === 'stored' ? outcome.message.stamp : Number.NaN
  }
  const windowEnds = () => stores.shift(WINDOW_MS + MARGIN_MS)
  /** Claims and settles all due notifications. Returns the number of messages in each, by device id. */
  async function told(): Promise<Readonly<Record<string, number>>> {
    await windowEnds()
    const claims = await store.pushes.claim(ROOM)
    for (const claim of claims) await store.pushes.settle(claim)
    return Object.fromEntries(claims.map(({ device: { id }, unpushed }) => [id, unpushed.count]))
  }

  // Shows: sidecar C16.1.
  it('keeps platform, token, ackMessages and times of each device over a restart', async () => {
    expect(await register(PHONE)).to.equal('created')
    await stores.shift(HOUR)
    expect(await register(TABLET)).to.equal('joined')
    expect(await register(BROWSER)).to.equal('joined')
    await stores.shift(HOUR)
    expect(await register({ ...TABLET, pushToken: 'another' })).to.equal('refreshed')
    const earlier = store.stations.get(KEY)
    await reopen()
    const station = store.stations.get(KEY)
    expect(station).to.deep.equal(earlier)
    expect(station?.devices).to.have.length(3)
    for (const { deviceId: id, ...rest } of [PHONE, { ...TABLET, pushToken: 'another' }, BROWSER])
      expect(device(id)).to.include({ ackMessages: false, tokenDead: false, ...rest })
    const [phone, tablet] = [device(PHONE.deviceId), device(TABLET.deviceId)]
    expect(station?.registeredAt).to.equal(phone?.registeredAt)
    // Stamps may be ahead of the clock.
    expect(tablet?.registeredAt).to.be.closeTo((phone?.registeredAt ?? Number.NaN) + HOUR, 1000)
    expect(tablet?.lastSeenAt).to.be.above((phone?.lastSeenAt ?? Number.NaN) + 1.5 * HOUR)
  })

  it('counts devices by platform, and stations by the platform of their oldest device', async () => {
    const none = { android: 0, ios: 0, webpush: 0 }
    const expectCounted = (stations: Partial<typeof none>, devices: Partial<typeof none>) =>
      expect({ stations: store.stations.countStations(), devices: store.stations.countDevices() }).to.deep.equal({
        stations: { ...none, ...stations },
        devices: { ...none, ...devices },
      })
    await registerAll()
    expectCounted({ android: 1 }, { android: 1, ios: 1, webpush: 1 })
    await store.stations.remove(KEY, { deviceId: PHONE.deviceId })
    expectCounted({ ios: 1 }, { ios: 1, webpush: 1 })
    await register({ ...TABLET, platform: 'android' })
    expectCounted({ android: 1 }, { android: 1, webpush: 1 })
    await reopen()
    expectCounted({ android: 1 }, { android: 1, webpush: 1 })
    await store.stations.remove(KEY)
    expectCounted({}, {})
  })

  // Shows: sidecar C16.1, C16.7.
  it('claims a push for every device, with the number of messages not yet sent to it', async () => {
    await registerAll()
    await receive()
    await windowEnds()
    const claims = await store.pushes.claim(ROOM)
    expect(
      claims.map(({ device: { platform, pushToken }, unpushed }) => [platform, pushToken, unpushed.count]),
    ).to.have.deep.members(DEVICES.map(({ platform, pushToken }) => [platform, pushToken, 1]))
    for (const claim of claims)
      if (claim.device.id === TABLET.deviceId)
        await store.pushes.retryLater(claim, { delayMs: WINDOW_MS, tries: 1, refusals: 0 })
      else await store.pushes.settle(claim)
    await receive()
    expect(await told()).to.deep.equal({ [PHONE.deviceId]: 1, [TABLET.deviceId]: 2, [BROWSER.deviceId]: 1 })
    await reopen()
    expect(await told()).to.deep.equal({})
  })

  it('a new device is not notified of earlier messages, but can read them', async () => {
    await register(PHONE)
    const first = await receive('before')
    await register(TABLET)
    expect((await store.history.since(KEY, TABLET.deviceId, 0))?.messages.map(({ stamp }) => stamp)).to.deep.equal([
      first,
    ])
    await receive('meanwhile')
    await store.stations.remove(KEY, { deviceId: TABLET.deviceId })
    await register(TABLET)
    expect(await told()).to.deep.equal({ [PHONE.deviceId]: 2 })
    await receive('after')
    await reopen()
    expect(await told()).to.deep.equal({ [PHONE.deviceId]: 1, [TABLET.deviceId]: 1 })
  })

  // Shows: sidecar C16.1.
  it('each device has its own cursor; a request without device id uses the oldest one', async () => {
    await registerAll()
    const [first, second] = [await receive(), await receive()]
    const timeOf = (id: string | undefined, since?: number) => store.cursors.stampFor(KEY, id, since)
    await timeOf(TABLET.deviceId, first)
    for (let round = 0; round < 2; round += 1) {
      expect(await timeOf(PHONE.deviceId)).to.equal(device(PHONE.deviceId)?.registeredAt)
      expect(await timeOf(TABLET.deviceId)).to.equal(first)
      expect(await timeOf(BROWSER.deviceId)).to.equal(device(BROWSER.deviceId)?.registeredAt)
      expect(await timeOf(undefined)).to.equal(device(PHONE.deviceId)?.registeredAt)
      await reopen()
    }
    await store.stations.remove(KEY, { deviceId: PHONE.deviceId })
    for (const { deviceId } of [TABLET, BROWSER]) await timeOf(deviceId, second)
    expect(await timeOf(undefined)).to.be.at.least(second)
  })

  // Shows: sidecar C16.7.
  it('an unknown device id reads no messages and removes no device', async () => {
    await register(TABLET)
    await receive()
    for (const deviceId of ['', 'tablet', TABLET.deviceId.toLowerCase()]) {
      expect(await store.history.since(KEY, deviceId, 0)).to.equal(undefined)
      expect(await store.stations.remove(KEY, { deviceId: deviceId })).to.equal('none')
    }
    expect(ids()).to.deep.equal([TABLET.deviceId])
  })

  it('removing a device keeps the others; removing the last one removes the station', async () => {
    await registerAll()
    await receive('kept')
    expect(await store.stations.remove(KEY, { deviceId: '' })).to.equal('devices')
    expect(ids()).to.have.members([TABLET.deviceId, BROWSER.deviceId])
    await reopen()
    expect(await told()).to.deep.equal({ [TABLET.deviceId]: 1, [BROWSER.deviceId]: 1 })
    expect(await store.stations.remove(KEY, { deviceId: TABLET.deviceId })).to.equal('devices')
    expect((await store.history.since(KEY, BROWSER.deviceId, 0))?.messages).to.have.length(1)
    expect(await store.stations.remove(KEY, { deviceId: BROWSER.deviceId })).to.equal('station')
    expect(store.stations.get(KEY)).to.equal(undefined)
    await register(PHONE)
    expect(await held(store)).to.deep.equal([])
  })

  it('unregistering a device without id requires the push token of that device', async () => {
    await registerAll()
    const end = (pushToken: string) => store.stations.remove(KEY, { deviceId: '', pushToken })
    for (const wrong of ['', 'of the tablet', 'Of the phone']) expect(await end(wrong)).to.equal('wrong_token')
    expect(ids()).to.have.length(3)
    expect(await end('of the phone')).to.equal('devices')
    expect(await end('of the phone')).to.equal('none')
    expect(ids()).to.not.include('')
  })

  // Shows: sidecar C16.15.
  it('keeps station and history if a stranger replaces the token and unregisters', async () => {
    await register(PHONE)
    const time = await receive()
    await register({ ...PHONE, pushToken: 'of a stranger' })
    await reopen()
    expect(await store.stations.remove(KEY, { deviceId: '', pushToken: 'of a stranger' })).to.equal('silenced')
    expect(device('')?.tokenDead).to.equal(true)
    await reopen()
    expect(await register(PHONE)).to.equal('refreshed')
    expect(device('')).to.include({ pushToken: 'of the phone', tokenDead: false })
    expect((await store.history.since(KEY, '', 0))?.messages.map((item) => item.stamp)).to.deep.equal([time])
  })

  // Shows: sidecar C16.15.
  it("a stranger who registered before the phone cannot delete the phone's history", async () => {
    await register({ ...PHONE, pushToken: 'of a stranger' })
    await register(PHONE)
    const time = await receive()
    await register({ ...PHONE, pushToken: 'of a stranger' })
    expect(await store.stations.remove(KEY, { deviceId: '', pushToken: 'of a stranger' })).to.equal('silenced')
    await register(PHONE)
    expect((await store.history.since(KEY, '', 0))?.messages.map((item) => item.stamp)).to.deep.equal([time])
  })

  it('removing a station removes all its devices', async () => {
    await registerAll()
    expect(await store.stations.remove(KEY)).to.equal('station')
    expect(store.stations.countDevices()).to.deep.equal({ android: 0, ios: 0, webpush: 0 })
    await register(PHONE)
    await reopen()
    expect(ids()).to.deep.equal([''])
  })

  it('expires a device that was not seen for too long, and keeps the others', async () => {
    await registerAll()
    await stores.shift(2 * HOUR)
    const boundary = stores.now() - HOUR
    await register(TABLET)
    expect(await store.housekeeping.expire(boundary, NEVER)).to.equal(0)
    expect(ids()).to.deep.equal([TABLET.deviceId])
  })

  // Shows: sidecar C4.27, C16.11.
  it('a dead push token ends only the notifications of its own device', async () => {
    await registerAll()
    await store.stations.markTokenDead(KEY, TABLET.deviceId, TABLET.pushToken)
    await store.stations.markTokenDead(KEY, BROWSER.deviceId, TABLET.pushToken)
    await store.stations.markTokenDead('W1AW', '', TABLET.pushToken)
    expect(store.stations.get('W1AW')).to.equal(undefined)
    await reopen()
    const dead = () => DEVICES.filter(({ deviceId }) => device(deviceId)?.tokenDead).map(({ deviceId }) => deviceId)
    expect(dead()).to.deep.equal([TABLET.deviceId])
    await register({ ...TABLET, pushToken: 'another' })
    expect(dead()).to.deep.equal([])
  })

  // Shows: sidecar C16.12.
  it('a push token belongs to its newest device; the former device keeps its cursor', async () => {
    await registerAll()
    await store.stations.register(registration('W1AW', { pushToken: BROWSER.pushToken, platform: 'webpush' }))
    const [first] = [await receive(), await receive()]
    await store.cursors.stampFor(KEY, BROWSER.deviceId, first)
    await register({ ...TABLET, pushToken: BROWSER.pushToken, platform: 'webpush' })
    const dead = () => store.stations.get(KEY)?.devices.flatMap(({ id, tokenDead }) => (tokenDead ? [id] : []))
    expect(dead()).to.deep.equal([BROWSER.deviceId])
    expect(await store.cursors.stampFor(KEY, BROWSER.deviceId)).to.equal(first)
    expect(store.stations.get('W1AW')?.devices[0]?.tokenDead).to.equal(false)
    await reopen()
    expect(dead()).to.deep.equal([BROWSER.deviceId])
    await register({ ...BROWSER, pushToken: 'another' })
    expect(dead()).to.deep.equal([])
  })

  // Shows: sidecar C4.27, C16.11.
  it('acknowledges a message if a device with a live push token wants acks', async () => {
    await reopen({ ack: SETTINGS.ack })
    const ackOf = async (seqId: string) => {
      const [outcome] = await store.history.append([message('numbered', { seqId })], true)
      return outcome?.kind === 'stored' && outcome.ack
    }
    await register(TABLET)
    expect(await ackOf('1')).to.equal(false)
    await register(PHONE)
    await register({ ...BROWSER, ackMessages: true })
    expect(await ackOf('2')).to.equal(true)
    await store.stations.markTokenDead(KEY, '', PHONE.pushToken)
    expect(await ackOf('3')).to.equal(true)
    await store.stations.remove(KEY, { deviceId: BROWSER.deviceId })
    expect(await ackOf('4')).to.equal(false)
  })

  // Shows: sidecar C16.4.
  it("a new device counts towards its client's hourly limit of new stations", async () => {
    await reopen({ rateLimit: { newStationsPerHour: 2 } })
    expect(await register(PHONE)).to.equal('created')
    expect(await register(TABLET)).to.equal('joined')
    expect(await register(BROWSER)).to.equal('limited')
    expect(ids()).to.have.members(['', TABLET.deviceId])
    expect(await register(PHONE)).to.equal('refreshed')
    expect(await register({ ...BROWSER, client: '192.0.2.9' })).to.equal('joined')
  })

  // Shows: sidecar C16.3.
  for (const { expireAfterHours, hours } of [
    { expireAfterHours: 48, hours: 48 },
    { expireAfterHours: 10_000, hours: 720 },
  ])
    it(`a ninth device of a station replaces a device not seen for ${hours} hours`, async () => {
      await reopen({ stations: { max: 1, expireAfterHours } })
      const named = (index: number) => ({ deviceId: index === 0 ? '' : `number-${index}`, pushToken: `${index}` })
      for (let index = 0; index < MAX_DEVICES; index += 1) {
        expect(await register(named(index))).to.equal(index === 0 ? 'created' : 'joined')
        await stores.shift(1000)
      }
      expect(await register(named(8))).to.equal('devices_full')
      await stores.shift(hours * HOUR - 60_000)
      expect(await register(named(0))).to.equal('refreshed')
      expect(await register(named(8))).to.equal('devices_full')
      await stores.shift(60_000)
      expect(await register(named(8))).to.equal('joined')
      await reopen({ stations: { max: 1, expireAfterHours } })
      const remaining = [0, 2, 3, 4, 5, 6, 7, 8].map((index) => named(index).deviceId)
      expect(ids()).to.have.members(remaining)
    })

  it('a station has the avatar that any of its devices uploaded last', async () => {
    await register({ ...PHONE, avatar: { icon: 'car', image: '', hash: 'icon:car' } })
    await register({ ...TABLET, avatar: { icon: 'dog', image: '', hash: 'icon:dog' } })
    await register(PHONE)
    expect(store.stations.get(KEY)?.avatar).to.include({ state: 'set', icon: 'dog' })
  })
}
