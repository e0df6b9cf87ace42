import { expect } from 'chai'
import fc from 'fast-check'
import { propertyRuns } from '../../support/property-runs.ts'
import { claim, registration } from '../../support/running-api.ts'
import { append, message } from '../store/sqlite/temporary-stores.ts'
import { type Fate, phoneApp } from './phone.ts'

const HOUR = 3_600_000

describe('The phone client', () => {
  const setup = phoneApp()
  const { launch, launched, receive, texts, asked: requested, push, settled } = setup

  // Shows: sidecar 17.2.
  it('the client registers at launch and gets the messages since its cursor', async () => {
    await launched()
    await receive('one')
    await launched()
    expect(texts()).to.deep.equal(['one'])
    expect(setup.app.requests[1]?.body).to.include({ wantHistory: true, avatarHash: '' })
    expect(setup.app.requests[1]?.body.since).to.be.a('number').and.above(0)
  })

  describe('The device id of the client', () => {
    // Shows: sidecar C16.10.
    it('the client keeps its device id across launches, and sends it with most calls', async () => {
      await setup.api.post('/v1/register', registration('N1CALL', { avatarUpdate: true, avatarIcon: 'dog' }))
      await launched()
      const deviceId = setup.app.state?.deviceId
      expect(deviceId).to.match(/^[0-9a-f]{32}$/)
      const client = await launched()
      await receive('one')
      await client.sync()
      await client.unregister()
      expect(setup.app.requests.map(({ path, body }) => [path.slice('/v1/'.length), body.deviceId])).to.deep.equal([
        ['register', deviceId],
        ['register', deviceId],
        ['sync', deviceId],
        ['avatars', undefined],
        ['unregister', deviceId],
      ])
      expect(setup.app.state?.deviceId).to.equal(deviceId)
    })

    // Shows: sidecar 11.6, 11.7, 11.12, 17.2, 17.5, C2.2, C16.10.
    it('the client adds a device id to older saved state, keeping cursor and push token', async () => {
      const { body } = await setup.api.post('/v1/register', registration('N0CALL', { pushToken: 'token' }))
      await receive('seen')
      const cursor = (await setup.api.post('/v1/sync', { ...claim('N0CALL'), since: body.serverTime })).body.serverTime
      await receive('new')
      setup.app.state = { cursor, avatarHash: '' }
      await launched()
      expect(texts()).to.deep.equal(['new'])
      expect(setup.app.state?.deviceId).to.have.length(32)
      const devices = setup.api.store.stations.get('N0CALL-7')?.devices ?? []
      expect(devices.map(({ id, tokenDead }) => [id, tokenDead])).to.have.deep.members([
        ['', true],
        [setup.app.state?.deviceId, false],
      ])
    })
  })

  // Shows: sidecar 17.1, 17.3.
  it('pushReceived() starts a sync; pushTapped() also returns the conversation', async () => {
    const client = await launched()
    await receive('one')
    await client.pushReceived(push())
    expect(texts()).to.deep.equal(['one'])
    await receive('two')
    expect(await client.pushTapped(push({ aps: { alert: 'two' } }))).to.equal('N1CALL-7')
    expect(texts()).to.deep.equal(['one', 'two'])
    setup.app.fates = ['request_lost']
    expect(await client.pushTapped(push())).to.equal('N1CALL-7')
    expect(requested()).to.deep.equal(['register', 'sync', 'sync', 'sync'])
  })

  it('the client registers every 6 hours, even if its timers were suspended', async () => {
    const client = await launched()
    await setup.app.clock.advance(6 * HOUR)
    await client.sync()
    expect(requested()).to.deep.equal(['register', 'register', 'sync'])
    expect(setup.app.requests[1]?.body).to.not.have.property('wantHistory')
    setup.app.clock.set(setup.app.clock.now() + 6 * HOUR)
    await client.sync()
    expect(requested()).to.deep.equal(['register', 'register', 'sync', 'register'])
  })

  it('the client registers a new push token once, and an unchanged one not again', async () => {
    const client = await launched()
    await client.setPushToken('another')
    await client.setPushToken('another')
    expect(setup.api.store.stations.get('N0CALL-7')?.devices[0]?.pushToken).to.equal('another')
    expect(requested()).to.deep.equal(['register', 'register'])
  })

  // Shows: sidecar C17.3, C17.4.
  it('the app gets the acks that its station received if wantAcks is on', async () => {
    const client = await launched({ wantAcks: true })
    await setup.api.store.receivedAcks.append([{ from: 'W1AW', to: 'N0CALL-7', seqId: '1', kind: 'ack' }])
    await client.sync()
    await client.sync()
    expect(setup.app.acks.map(({ from, seqId, kind }) => [from, seqId, kind])).to.deep.equal([['W1AW', '1', 'ack']])
  })

  // Shows: sidecar C17.3.
  it('the client sends its blocked senders with every register call, and on changes', async () => {
    const client = await launched({ anySsid: true, blocked: ['W1AW'] })
    await client.setBlocked(['W1AW', 'SPAM*'])
    await client.setBlocked([])
    expect(setup.app.requests.map(({ body }) => body.blocked)).to.deep.equal([['W1AW'], ['W1AW', 'SPAM*'], undefined])
    expect(setup.api.store.stations.get('N0CALL-7')?.devices[0]?.options).to.include({ anySsid: true, wantAcks: false })
  })

  it('after unregister, neither a late push nor a heartbeat registers the client again', async () => {
    const client = await launched()
    await client.unregister()
    await client.unregister()
    await client.pushReceived(push())
    await setup.app.clock.advance(7 * HOUR)
    expect(setup.api.store.stations.size).to.equal(0)
    await client.start()
    expect(setup.api.store.stations.size).to.equal(1)
  })

  // Shows: sidecar 2.8, 6.3, 17.5, C4.17, C15.3.
  it('shows each message once and in order even if requests, answers or saves fail', async () => {
    const fate = fc.constantFrom<Fate>('arrives', 'arrives', 'request_lost', 'answer_lost')
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.constant({ kind: 'message' as const }) },
      {
        weight: 5,
        arbitrary: fc.record({
          kind: fc.constantFrom('sync' as const, 'launch' as const, 'token' as const, 'push' as const),
          fates: fc.array(fate, { maxLength: 2 }),
          saves: fc.array(fc.boolean(), { maxLength: 2 }),
        }),
      },
    )
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25, size: 'max' }), async (steps) => {
        run += 1
        const callsign = `N${run}RUN`
        setup.newApp()
        let client = await launched({ callsign })
        const sent: string[] = []
        for (const [index, first] of steps.entries()) {
          setup.api.clock.set(setup.api.clock.now() + 1000)
          if (first.kind === 'message') {
            sent.push(`message ${index}`)
            await append(
              setup.api.store,
              message(sent.at(-1) ?? '', { from: 'N1CALL', to: `${callsign}-7`, seqId: '' }),
            )
            continue
          }
          setup.app.fates = [...first.fates]
          setup.app.saves = [...first.saves]
          if (first.kind === 'launch') {
            await client.close()
            client = await launch({ callsign })
            await settled(client, client.start())
          } else if (first.kind === 'token') await settled(client, client.setPushToken(`token-${index}`))
          else await settled(client, first.kind === 'push' ? client.pushReceived(push()) : client.sync())
          setup.app.fates = []
          setup.app.saves = []
        }
        await settled(client, client.sync())
        await client.sync()
        await client.close()
        expect(texts()).to.deep.equal(sent)
      }),
      { numRuns: propertyRuns(12) },
    )
  })
})
