import { expect } from 'chai'
import { deferred } from '../../support/deferred.ts'
import { until } from '../../support/until.ts'
import { startWholeSidecar, type WholeSidecar } from '../../support/whole-sidecar.ts'

const DEVICE = 'ab'.repeat(32)
describe('A push from APRS-IS to the gateway', () => {
  let whole: WholeSidecar
  beforeEach(async () => {
    whole = await startWholeSidecar()
  })
  afterEach(() => whole.close())

  // Shows: sidecar O1.9.
  it("the latency metric of a push runs from its message to the gateway's answer", async () => {
    await whole.register('N0CALL')
    await whole.receive('N9CALL', 'N0CALL-7', 'Good morning{12')
    await whole.clock.advance(1500)
    await whole.receive('N9CALL', 'N0CALL-7', 'Good evening{13')
    await whole.endWindow()
    await whole.fcm.waitFor(() => true)
    const metric = async (name: string) => {
      const lines = (await (await fetch(`${whole.sidecar.adminUrl}/metrics`)).text()).split('\n')
      return lines.find((line) => line.startsWith(`mesh_companion_push_latency_seconds_${name}`))?.split(' ')[1]
    }
    await until('the push to be counted', async () => (await metric('count{platform="android"}')) === '1')
    // Two and a half seconds by the fake clock, independent of the machine's.
    expect(Number(await metric('sum{platform="android"}'))).to.be.within(2, 3.5)
    expect(await metric('count{platform="ios"}')).to.not.equal('0')
  })

  // Shows: sidecar 2.6, 3.3, 3.4, 7.1, 7.2, 7.3, 7.5, 7.10, 7.11, 7.12, 7.13, 7.14, 17.3, 19.1, 19.2, 20.1, C5.7.
  // Shows: sidecar C5.8.
  it('a push goes to the gateway and token of its device, with the documented data', async () => {
    await whole.register('N0CALL')
    await whole.register('N1CALL', { platform: 'ios', pushToken: DEVICE })
    for (const callsign of ['N0CALL', 'N1CALL']) await whole.receive('N9CALL', `${callsign}-7`, 'Good morning{12')
    await whole.endWindow()
    for (const [gateway, token, to] of [
      [whole.fcm, 'token-of-N0CALL', 'N0CALL-7'],
      [whole.apns, DEVICE, 'N1CALL-7'],
    ] as const) {
      const collapseId = `aprs-${to}`
      expect(await gateway.waitFor((message) => message.token === token)).to.deep.equal({
        title: 'N9CALL',
        body: 'Good morning',
        token,
        data: { fromCall: 'N9CALL', seqId: '12', count: '1', to, collapseId },
        collapseId,
      })
    }
    expect(whole.fcm.attempts).to.equal(1)
  })

  // Shows: sidecar 2.10, 5.12, 7.9, 16.7, 16.9, 19.4, C5.5.
  it('a push has fromAvatarCleared only if the sender cleared an avatar that was set', async () => {
    await whole.register('N0CALL')
    const avatarKeys = async (text: string) => {
      await whole.receive('N9CALL-7', 'N0CALL-7', text)
      await whole.endWindow()
      const { data } = await whole.fcm.waitFor(({ body }) => body === text)
      return Object.fromEntries(Object.entries(data).filter(([key]) => key.startsWith('fromAvatar')))
    }
    const upload = (members: object) =>
      whole.register('N9CALL', { platform: 'ios', pushToken: 'e'.repeat(64), avatarUpdate: true, ...members })
    expect(await avatarKeys('from a stranger')).to.deep.equal({})
    await upload({})
    expect(await avatarKeys('cleared what was never set')).to.deep.equal({})
    await upload({ avatarIcon: 'dog' })
    expect(await avatarKeys('with a dog')).to.deep.equal({ fromAvatarIcon: 'dog', fromAvatarHash: 'icon:dog' })
    await upload({ avatarIcon: '', avatarImage: '', avatarHash: '' })
    expect(await avatarKeys('cleared')).to.deep.equal({ fromAvatarCleared: '1' })
  })

  // Shows: sidecar 2.7.
  it('a hanging push gateway delays neither storing, syncs nor the other gateway', async () => {
    const { promise, resolve } = deferred()
    whole.fcm.ready = promise
    await whole.register('N0CALL')
    await whole.register('N1CALL', { platform: 'ios', pushToken: DEVICE })
    for (const callsign of ['N0CALL', 'N1CALL']) await whole.receive('N9CALL', `${callsign}-7`, 'one')
    await whole.endWindow()
    await whole.apns.waitFor(({ token }) => token === DEVICE)
    await whole.receive('N9CALL', 'N0CALL-7', 'two')
    expect((await whole.messages('N0CALL')).map(({ text }) => text)).to.deep.equal(['one', 'two'])
    expect(whole.fcm.attempts).to.equal(1)
    expect(whole.fcm.received).to.deep.equal([])
    resolve()
  })
})
