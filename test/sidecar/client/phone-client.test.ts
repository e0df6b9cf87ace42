import { EventEmitter, once } from 'node:events'
import { expect } from 'chai'
import fc from 'fast-check'
import { avatarHash } from '../../../sidecar/api/requests/avatar.ts'
import { ClientError, type Fetch, type PhoneClient } from '../../../sidecar/client/index.ts'
import { pngFile } from '../../support/png-file.ts'
import { propertyRuns } from '../../support/property-runs.ts'
import { claim, type RunningApi, registration, startApi } from '../../support/running-api.ts'
import { append, message } from '../store/sqlite/temporary-stores.ts'
import { AppOfStation, type Fate } from './phone.ts'

const HOUR = 3_600_000
const image = pngFile().toString('base64')

describe("an app's client", () => {
  let api: RunningApi
  let app: AppOfStation
  const clients: PhoneClient[] = []
  beforeEach(async () => {
    api = await startApi()
    app = new AppOfStation(api)
  })
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close()
    await api.close()
  })

  async function launch(options: Parameters<AppOfStation['launch']>[0] = {}) {
    const client = await app.launch(options)
    clients.push(client)
    return client
  }
  async function launched(options: Parameters<AppOfStation['launch']>[0] = {}) {
    const client = await launch(options)
    await client.start()
    return client
  }
  const receive = (text: string, from = 'N1CALL-7', seqId = '') =>
    append(api.store, message(text, { from, to: 'N0CALL-7', seqId }))
  const texts = () => app.shown.map(({ text }) => text)
  const asked = () => app.requests.map(({ path }) => path.slice('/v1/'.length))
  const push = (members: object = {}) => ({
    ...{ fromCall: 'N1CALL-7', seqId: '1', to: 'N0CALL-7', count: '1', collapseId: 'aprs-N0CALL-7' },
    ...members,
  })
  const codeOf = async (call: Promise<unknown>) =>
    call.then(
      () => 'none',
      (error: unknown) => (error instanceof ClientError ? error.code : String(error)),
    )
  /** Waits for a call while the network is said to be back again and again. */
  async function settled(client: PhoneClient, call: Promise<unknown>): Promise<void> {
    let done = false
    const end = codeOf(call).finally(() => {
      done = true
    })
    while (!done) {
      client.networkChanged()
      await new Promise((resolve) => setImmediate(resolve))
    }
    await end
  }

  it('registers at launch and brings what was missed since its cursor', async () => {
    await launched()
    await receive('one')
    await launched()
    expect(texts()).to.deep.equal(['one'])
    expect(app.requests[1]?.body).to.include({ wantHistory: true, avatarHash: '' })
    expect(app.requests[1]?.body.since).to.be.a('number').and.above(0)
  })

  describe('its device id', () => {
    const ids = () => app.requests.map(({ path, body }) => [path.slice('/v1/'.length), body.deviceId])

    it('is made at random, kept before it is sent, and sent with every call but that for avatars', async () => {
      app.saves = [false]
      const client = await launch()
      expect(await codeOf(client.start())).to.equal('Error: The disk is full.')
      expect(asked()).to.deep.equal([])
      app.fates = ['answer_lost']
      await codeOf(client.start())
      const deviceId = app.state?.deviceId
      expect(deviceId).to.match(/^[0-9a-f]{32}$/)
      await api.post('/v1/register', registration('N1CALL', { avatarUpdate: true, avatarIcon: 'dog' }))
      const next = await launched()
      await receive('one')
      await next.sync()
      await next.unregister()
      expect(ids()).to.deep.equal([
        ['register', deviceId],
        ['register', deviceId],
        ['sync', deviceId],
        ['avatars', undefined],
        ['unregister', deviceId],
      ])
      expect(api.store.stations.get('N0CALL-7')).to.equal(undefined)
      expect(app.state?.deviceId).to.equal(deviceId)
    })

    it('comes to a store of before, which goes on at its cursor, and takes the token from the device without one', async () => {
      const { body } = await api.post('/v1/register', registration('N0CALL', { pushToken: 'token' }))
      await receive('seen')
      const cursor = (await api.post('/v1/sync', { ...claim('N0CALL'), since: body.serverTime })).body.serverTime
      await receive('new')
      app.state = { cursor, avatarHash: '' }
      await launched()
      expect(texts()).to.deep.equal(['new'])
      expect(app.state?.deviceId).to.have.length(32)
      const devices = api.store.stations.get('N0CALL-7')?.devices ?? []
      expect(devices.map(({ id, tokenDead }) => [id, tokenDead])).to.have.deep.members([
        ['', true],
        [app.state?.deviceId, false],
      ])
    })
  })

  it('syncs when a push arrives in the foreground, and when one is tapped says whose conversation to open', async () => {
    const client = await launched()
    await receive('one')
    await client.pushReceived(push())
    expect(texts()).to.deep.equal(['one'])
    await receive('two')
    expect(await client.pushTapped(push({ aps: { alert: 'two' } }))).to.equal('N1CALL-7')
    expect(texts()).to.deep.equal(['one', 'two'])
    app.fates = ['request_lost']
    expect(await client.pushTapped(push())).to.equal('N1CALL-7')
    expect(asked()).to.deep.equal(['register', 'sync', 'sync', 'sync'])
  })

  it('leaves out what came over radio already, and moves its cursor past it', async () => {
    app.onAir = ({ text }) => text === 'heard'
    const client = await launched()
    await receive('heard')
    await receive('new')
    await client.sync()
    expect(texts()).to.deep.equal(['new'])
    app.onAir = () => false
    await client.sync()
    expect(texts()).to.deep.equal(['new'])
  })

  it('does not move its cursor past messages that could not be stored, not even by a heartbeat', async () => {
    const client = await launched()
    await receive('one')
    app.saves = [false]
    expect(await codeOf(client.sync())).to.equal('Error: The disk is full.')
    await client.setPushToken('another')
    await launched()
    expect(texts()).to.deep.equal(['one'])
  })

  it('registers every 6 hours, and at a sync after its timers stood still', async () => {
    const client = await launched()
    await app.clock.advance(6 * HOUR)
    await client.sync()
    expect(asked()).to.deep.equal(['register', 'register', 'sync'])
    expect(app.requests[1]?.body).to.not.have.property('wantHistory')
    app.clock.set(app.clock.now() + 6 * HOUR)
    await client.sync()
    expect(asked()).to.deep.equal(['register', 'register', 'sync', 'register'])
  })

  it('registers a token that the platform gave anew, and the same one not again', async () => {
    const client = await launched()
    await client.setPushToken('another')
    await client.setPushToken('another')
    expect(api.store.stations.get('N0CALL-7')?.devices[0]?.pushToken).to.equal('another')
    expect(asked()).to.deep.equal(['register', 'register'])
  })

  it('registers again when the server has forgotten the station, with its avatar', async () => {
    const client = await launched({ avatar: { icon: 'dog', image } })
    await api.store.stations.remove('N0CALL-7')
    await client.sync()
    expect(api.store.stations.get('N0CALL-7')?.avatar).to.include({ hash: avatarHash('dog', image) })
  })

  describe('with an avatar of its own', () => {
    const uploads = () => app.requests.filter(({ body }) => body.avatarUpdate === true).length
    const held = () => api.store.stations.get('N0CALL-7')?.avatar

    it('uploads it only when the server confirmed another hash, and its hash always', async () => {
      const avatar = { icon: 'dog', image }
      const client = await launched({ avatar })
      expect(held()).to.include({ hash: avatarHash('dog', image) })
      await launched({ avatar })
      await app.clock.advance(6 * HOUR)
      await client.sync()
      expect(uploads()).to.equal(1)
      const registers = app.requests.filter(({ path }) => path === '/v1/register')
      expect(registers.every(({ body }) => body.avatarHash === avatarHash('dog', image))).to.equal(true)
    })

    it('uploads what it is changed to, and clears what was taken away', async () => {
      const client = await launched({ avatar: { icon: 'dog', image: '' } })
      await client.setAvatar({ icon: 'cat', image: '' })
      expect(held()).to.include({ hash: 'icon:cat' })
      await client.setAvatar(null)
      expect(held()?.state).to.equal('cleared')
      expect(asked()).to.deep.equal(['register', 'register', 'register', 'register'])
    })

    it('asks what the server holds before it uploads anything, as after the app was installed anew', async () => {
      await api.post('/v1/register', registration('N0CALL', { avatarUpdate: true, avatarIcon: 'dog' }))
      const client = await launch()
      await client.setAvatar({ icon: 'dog', image: '' })
      expect(uploads()).to.equal(0)
    })

    it('uploads nothing while it never had one, whatever the server holds', async () => {
      await api.post('/v1/register', registration('N0CALL', { avatarUpdate: true, avatarIcon: 'dog' }))
      const client = await launched()
      await client.setPushToken('another')
      expect(uploads()).to.equal(0)
      expect(held()).to.include({ hash: 'icon:dog' })
    })

    it('is not blamed for what else the server refuses', async () => {
      const client = await launched({ platform: 'ios', pushToken: 'ab'.repeat(32) })
      expect(await codeOf(client.setPushToken('no hex'))).to.equal('invalid_request')
      expect(await codeOf(client.setAvatar({ icon: 'cat', image: '' }))).to.equal('invalid_request')
      await client.setPushToken('cd'.repeat(32))
      expect(held()).to.include({ hash: 'icon:cat' })
    })

    it('says that one is refused, stays registered, and does not send it again', async () => {
      const client = await launched()
      expect(await codeOf(client.setAvatar({ icon: '', image: 'no image' }))).to.equal('invalid_request')
      await client.setPushToken('another')
      expect(api.store.stations.get('N0CALL-7')?.devices[0]?.pushToken).to.equal('another')
      expect(uploads()).to.equal(1)
    })
  })

  describe('with the avatars of others', () => {
    beforeEach(() => api.post('/v1/register', registration('N1CALL', { avatarUpdate: true, avatarIcon: 'dog' })))

    it('fetches only those whose hash is another one than that of its copy', async () => {
      const client = await launched()
      await receive('one')
      await client.sync()
      await receive('two')
      await client.sync()
      expect(app.avatars.get('N1CALL-7')).to.deep.equal({ icon: 'dog', image: '', hash: 'icon:dog' })
      expect(asked()).to.deep.equal(['register', 'sync', 'avatars', 'sync'])
      await api.post('/v1/register', registration('N1CALL', { avatarUpdate: true, avatarIcon: 'cat' }))
      await receive('three')
      await client.sync()
      expect(app.avatars.get('N1CALL-7')?.hash).to.equal('icon:cat')
    })

    it('keeps one that a push brought, without asking for it, and drops one that a push says is cleared', async () => {
      const client = await launched()
      await receive('one')
      await client.pushReceived(push({ fromAvatarIcon: 'dog', fromAvatarHash: 'icon:dog' }))
      expect(app.avatars.get('N1CALL-7')).to.deep.equal({ icon: 'dog', image: '', hash: 'icon:dog' })
      await client.pushReceived(push({ fromAvatarCleared: '1' }))
      expect(app.avatars.get('N1CALL-7')).to.equal(undefined)
      expect(asked()).to.not.include('avatars')
    })

    it('takes a hash without its image for none, so that the sync fetches it', async () => {
      const client = await launched()
      await client.pushReceived(push({ fromAvatarHash: 'f'.repeat(64), fromAvatarIcon: 'dog' }))
      expect(app.avatars.get('N1CALL-7')).to.equal(undefined)
    })

    it('shows messages though their pictures cannot be had, and asks for those with the next sync', async () => {
      const client = await launched()
      await receive('one')
      app.fates = ['arrives', 'request_lost']
      await client.sync()
      expect(texts()).to.deep.equal(['one'])
      await client.sync()
      expect(app.avatars.get('N1CALL-7')?.hash).to.equal('icon:dog')
    })
  })

  describe('without an answer', () => {
    it('says so at once, and tries again by itself, waiting longer each time', async () => {
      const client = await launch()
      app.fates = ['request_lost', 'request_lost', 'request_lost']
      expect(await codeOf(client.start())).to.equal('unreachable')
      const waits: number[] = []
      for (let tries = 1; tries <= 3; tries++) {
        const from = app.clock.elapsed()
        while (app.requests.length === tries) await app.clock.advance(100)
        waits.push(app.clock.elapsed() - from)
      }
      expect(waits).to.deep.equal([2000, 4000, 8000])
      await client.sync()
      expect(api.store.stations.get('N0CALL-7')).to.not.equal(undefined)
    })

    it('sends nothing more over a rate limit until its wait is over, whatever the app asks for', async () => {
      await api.close()
      api = await startApi({ rateLimit: { max: 1 } })
      app = new AppOfStation(api)
      const client = await launched()
      expect(await codeOf(client.sync())).to.equal('unreachable')
      const calls = [client.pushReceived(push()), client.sync(), client.setPushToken('another')]
      await app.clock.advance(1999)
      expect(asked()).to.deep.equal(['register', 'sync'])
      await api.clock.advance(60_000)
      await app.clock.advance(1)
      expect(await codeOf(calls[0] ?? Promise.resolve())).to.equal('none')
      await client.close()
      await Promise.allSettled(calls)
    })

    it('begins with short waits again after a call that was answered', async () => {
      const client = await launch()
      app.fates = ['request_lost', 'request_lost']
      await codeOf(client.start())
      await settled(client, client.sync())
      await settled(client, client.sync())
      app.fates = ['request_lost']
      await codeOf(client.sync())
      const before = app.requests.length
      await app.clock.advance(1999)
      expect(app.requests.length).to.equal(before)
      await app.clock.advance(1)
      expect(app.requests.length).to.equal(before + 1)
      await settled(client, client.sync())
    })

    it('does not try again what the server refused for good', async () => {
      const client = await launch({ passcode: 1 })
      expect(await codeOf(client.start())).to.equal('wrong_passcode')
      await app.clock.advance(HOUR)
      expect(asked()).to.deep.equal(['register'])
    })

    it('tries again what stands in place of the server, and what the server says will pass', async () => {
      const answers = [
        { status: 200, json: async () => JSON.parse('<html>') },
        { status: 502, json: async () => ({}) },
        { status: 503, json: async () => ({ error: 'full', message: 'The server has no room.' }) },
      ]
      const client = await launch({
        fetch: async (address, init) => answers.shift() ?? fetch(address, init),
      })
      for (const code of ['bad_answer', 'bad_answer', 'full']) {
        expect(await codeOf(client.sync())).to.equal(code)
        client.networkChanged()
      }
      await client.sync()
      expect(api.store.stations.size).to.equal(1)
    })

    const hanging =
      (onAsked = () => {}): Fetch =>
      (_address, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
          onAsked()
        })

    it('gives a call 30 s', async () => {
      const client = await launch({ fetch: hanging() })
      const code = codeOf(client.start())
      await app.clock.advance(30_000)
      expect(await code).to.equal('unreachable')
    })

    it('ends a call that is under way when it is closed', async () => {
      const client = await launch({ fetch: hanging(() => void client.close()) })
      expect(await codeOf(client.start())).to.equal('closed')
      expect(app.clock.pending).to.equal(0)
    })

    it('is closed once nothing of it is on its way into the stores of the app any more', async () => {
      let release = () => {}
      const held = new Promise<void>((resolve) => {
        release = resolve
      })
      const begun: string[] = []
      const ended: string[] = []
      const saves = new EventEmitter()
      const keep = async (what: string) => {
        begun.push(what)
        if (begun.length === 2) saves.emit('both')
        await held
        ended.push(what)
      }
      const client = await launch({
        avatars: { hashOf: () => undefined, put: () => keep('avatar') },
        store: { load: async () => undefined, save: () => keep('state') },
      })
      const both = once(saves, 'both', { signal: AbortSignal.timeout(10_000) })
      const asking = [client.start(), client.pushReceived(push({ fromAvatarIcon: '/>', fromAvatarHash: 'icon:/>' }))]
      await both
      const closed = client.close().then(() => ended.push('closed'))
      release()
      await Promise.allSettled([closed, ...asking])
      expect(begun).to.include.members(['avatar', 'state'])
      expect(ended).to.have.length(begun.length + 1)
      expect(ended.at(-1)).to.equal('closed')
    })

    it('sends nothing once it is closed, and tells who waits', async () => {
      const client = await launch()
      app.fates = ['request_lost']
      await codeOf(client.start())
      const waiting = codeOf(client.sync())
      await client.close()
      expect(await waiting).to.equal('closed')
      await app.clock.advance(7 * HOUR)
      expect(asked()).to.deep.equal(['register'])
      expect(app.clock.pending).to.equal(0)
    })
  })

  for (const [what, isRefused] of [
    ['refused for good, as by an operator who reserved its call by mistake', true],
    ['answered, but could not be saved', false],
  ] as const) {
    it(`registers again 6 hours after a heartbeat that was ${what}`, async () => {
      let refuses = false
      const answered: number[] = []
      const answers = new EventEmitter()
      const client = await launched({
        async fetch(address, init) {
          const answer = refuses
            ? { status: 403, json: async () => ({ error: 'reserved', message: 'This call is reserved.' }) }
            : await fetch(address, init)
          answered.push(answer.status)
          answers.emit('one')
          return answer
        },
      })
      // The server holds another avatar than it confirmed: that is to be saved.
      await api.post('/v1/register', registration('N0CALL', { avatarUpdate: true, avatarIcon: 'dog' }))
      refuses = isRefused
      app.saves = isRefused ? [] : [false]
      for (let beats = 0; beats < 3; beats++) {
        const one = once(answers, 'one', { signal: AbortSignal.timeout(10_000) })
        await app.clock.advance(6 * HOUR)
        await one
        refuses = false
      }
      await client.close()
      expect(answered).to.deep.equal([200, isRefused ? 403 : 200, 200, 200])
      expect(app.state?.avatarHash).to.equal('icon:dog')
    })
  }

  it('unregisters, and is not brought back by a late push or a heartbeat', async () => {
    const client = await launched()
    await client.unregister()
    await client.unregister()
    await client.pushReceived(push())
    await app.clock.advance(7 * HOUR)
    expect(api.store.stations.size).to.equal(0)
    await client.start()
    expect(api.store.stations.size).to.equal(1)
  })

  it('shows each message exactly once, in order, whatever of requests, answers and saves is lost, over any launches', async () => {
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
        app = new AppOfStation(api)
        let client = await launched({ callsign })
        const sent: string[] = []
        for (const [index, one] of steps.entries()) {
          api.clock.set(api.clock.now() + 1000)
          if (one.kind === 'message') {
            sent.push(`message ${index}`)
            await append(api.store, message(sent.at(-1) ?? '', { from: 'N1CALL', to: `${callsign}-7`, seqId: '' }))
            continue
          }
          app.fates = [...one.fates]
          app.saves = [...one.saves]
          if (one.kind === 'launch') {
            await client.close()
            client = await launch({ callsign })
            await settled(client, client.start())
          } else if (one.kind === 'token') await settled(client, client.setPushToken(`token-${index}`))
          else await settled(client, one.kind === 'push' ? client.pushReceived(push()) : client.sync())
          app.fates = []
          app.saves = []
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
