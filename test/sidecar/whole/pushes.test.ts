import { expect } from 'chai'
import type { PushOutcome } from '../../../sidecar/push/gateway/gateway.ts'
import { startWholeSidecar, type WholeSidecar } from '../../support/whole-sidecar.ts'

const DEVICE = 'ab'.repeat(32)
describe('A push of the sidecar', () => {
  let its: WholeSidecar
  beforeEach(async () => {
    its = await startWholeSidecar()
  })
  afterEach(() => its.close())

  /** What both gateways get for a message to a station on each. */
  async function pushes(from: string, field: string) {
    const before = [its.fcm.received.length, its.apns.received.length] as const
    await its.receive(from, 'N0CALL-7', field)
    await its.receive(from, 'N1CALL-7', field)
    await its.endWindow()
    const android = await its.fcm.waitFor((message) => its.fcm.received.indexOf(message) >= before[0])
    const ios = await its.apns.waitFor(
      (message) => message.token === DEVICE && its.apns.received.indexOf(message) >= before[1],
    )
    return { android, ios }
  }

  const registerBoth = async () => {
    await its.register('N0CALL')
    await its.register('N1CALL', { platform: 'ios', pushToken: DEVICE })
  }

  /** As a station without SSID, so that it is the sender of what `receive` brings. */
  const avatarOf = (callsign: string, members: object) =>
    its.register(callsign, { platform: 'ios', pushToken: 'e'.repeat(64), avatarUpdate: true, ...members })

  it('is timed from the message coming in to the gateway accepting it, by platform', async () => {
    await its.register('N0CALL')
    await its.receive('N9CALL', 'N0CALL-7', 'Good morning{12')
    await its.clock.advance(1500)
    await its.receive('N9CALL', 'N0CALL-7', 'Good evening{13')
    await its.endWindow()
    await its.fcm.waitFor(() => true)
    const metric = async (name: string) => {
      const lines = (await (await fetch(`${its.sidecar.adminUrl}/metrics`)).text()).split('\n')
      return lines.find((line) => line.startsWith(`mesh_companion_push_latency_seconds_${name}`))?.split(' ')[1]
    }
    while ((await metric('count{platform="android"}')) !== '1');
    // Two seconds and a half by the clock, whatever the machine's own takes.
    expect(Number(await metric('sum{platform="android"}'))).to.be.within(2, 3.5)
    expect(await metric('count{platform="ios"}')).to.not.equal('0')
  })

  it('goes to the gateway of its platform and token, with the specified data', async () => {
    await registerBoth()
    const { android, ios } = await pushes('N9CALL', 'Good morning{12')
    const data = { fromCall: 'N9CALL', seqId: '12', count: '1' }
    const banner = { title: 'N9CALL', body: 'Good morning' }
    expect(android).to.deep.equal({
      ...banner,
      token: 'token-of-N0CALL',
      data: { ...data, to: 'N0CALL-7', collapseId: 'aprs-N0CALL-7' },
      collapseId: 'aprs-N0CALL-7',
    })
    expect(ios).to.deep.equal({
      ...banner,
      token: DEVICE,
      data: { ...data, to: 'N1CALL-7', collapseId: 'aprs-N1CALL-7' },
      collapseId: 'aprs-N1CALL-7',
    })
    expect(its.fcm.attempts).to.equal(1)
  })

  it('folds the messages of a window into one, with their number and the newest of them', async () => {
    await its.register('N0CALL')
    await its.receive('N9CALL', 'N0CALL-7', 'one{1')
    await its.receive('N8CALL', 'N0CALL-7', 'two{2')
    await its.receive('N9CALL', 'N0CALL-7', 'three{3')
    await its.endWindow()
    const { data, body } = await its.fcm.waitFor(() => true)
    expect(data).to.include({ count: '3', fromCall: 'N9CALL', seqId: '3', to: 'N0CALL-7' })
    expect(body).to.equal('3 new APRS messages')
    await its.receive('N9CALL', 'N0CALL-7', 'four{4')
    await its.endWindow()
    const next = await its.fcm.waitFor(({ data }) => data.seqId === '4')
    expect(next.data).to.include({ count: '1', collapseId: data.collapseId ?? '' })
    expect(its.fcm.received).to.have.length(2)
  })

  it('carries a tombstone when its sender cleared the avatar, and none when that never set one', async () => {
    await registerBoth()
    const avatarKeys = async (text: string) => {
      const { android, ios } = await pushes('N9CALL-7', text)
      const keys = (data: object) => Object.entries(data).filter(([key]) => key.startsWith('fromAvatar'))
      expect(keys(ios.data)).to.deep.equal(keys(android.data))
      return keys(ios.data)
    }
    expect(await avatarKeys('from a stranger')).to.deep.equal([])
    await avatarOf('N9CALL', {})
    expect(await avatarKeys('cleared what was never set')).to.deep.equal([])
    await avatarOf('N9CALL', { avatarIcon: 'dog' })
    expect(Object.fromEntries(await avatarKeys('with a dog'))).to.deep.equal({
      fromAvatarIcon: 'dog',
      fromAvatarHash: 'icon:dog',
    })
    await avatarOf('N9CALL', { avatarIcon: '', avatarImage: '', avatarHash: '' })
    expect(await avatarKeys('cleared')).to.deep.equal([['fromAvatarCleared', '1']])
    await avatarOf('N9CALL', { avatarIcon: 'cat' })
    expect(await avatarKeys('with a cat')).to.have.length(2)
  })

  it('holds up neither storing nor syncing nor the other gateway while its own hangs', async () => {
    let answer: (outcome: PushOutcome) => void = () => {}
    its.fcm.fail(
      new Promise((resolve) => {
        answer = resolve
      }),
    )
    await registerBoth()
    await its.receive('N9CALL', 'N0CALL-7', 'one')
    await its.receive('N9CALL', 'N1CALL-7', 'one')
    await its.endWindow()
    const { data } = await its.apns.waitFor(({ token }) => token === DEVICE)
    expect(data).to.include({ fromCall: 'N9CALL' })
    await its.receive('N9CALL', 'N0CALL-7', 'two')
    expect((await its.messages('N0CALL')).map(({ text }) => text)).to.deep.equal(['one', 'two'])
    expect([its.fcm.attempts, its.fcm.received.length]).to.deep.equal([1, 0])
    answer({ kind: 'accepted' })
  })
})
