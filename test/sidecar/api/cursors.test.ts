import { expect } from 'chai'
import { type Api, serveApi } from '../../../sidecar/api/server.ts'
import { type Calls, createCalls } from '../../../sidecar/client/index.ts'
import type { Store } from '../../../sidecar/messages/store.ts'
import { createMetrics } from '../../../sidecar/metrics.ts'
import { claim, registration } from '../../support/running-api.ts'
import { message, stampOf, temporaryStores } from '../store/sqlite/temporary-stores.ts'

describe('A server time', () => {
  const stores = temporaryStores()
  const apis: Api[] = []
  afterEach(async () => {
    for (const api of apis.splice(0)) await api.close()
  })

  async function serve(store: Store): Promise<Api> {
    const api = await serveApi({
      listen: { host: '127.0.0.1', port: 0, certFile: null, keyFile: null, trustProxy: false },
      rateLimit: { windowMs: 60_000, max: 1_000_000, newStationsPerHour: 1_000_000, connectionsPerAddress: 64 },
      store,
      isReserved: () => false,
      webPush: { allowPrivate: false },
      clock: stores.clock,
      metrics: createMetrics(),
      log: stores.log,
    })
    apis.push(api)
    return api
  }

  const phoneOf = (api: Api): Calls => createCalls({ baseUrl: api.url })

  describe('of an answer without messages', () => {
    let store: Store
    let api: Api
    let sent = 0
    beforeEach(async () => {
      store = await stores.open()
      api = await serve(store)
      await phoneOf(api).register(registration('N0CALL'))
    })

    const heartbeat = async () => (await phoneOf(api).register(registration('N0CALL'))).serverTime
    const avatars = async () => (await phoneOf(api).avatars({ ...claim('N0CALL'), stations: [] })).serverTime
    const sync = (since: number) => phoneOf(api).sync({ ...claim('N0CALL'), since })
    const launch = (since: number) => phoneOf(api).register(registration('N0CALL', { wantHistory: true, since }))
    const receive = async () => {
      stores.clock.set(stores.clock.now() + 1000)
      sent += 1
      const time = await stampOf(store, message(`text ${sent}`, { to: 'N0CALL-7' }))
      stores.clock.set(stores.clock.now() + 1000)
      return time
    }

    it('is older than a message that the phone has not got, and is what it brings once it has', async () => {
      const first = await heartbeat()
      const time = await receive()
      for (const ask of [heartbeat, avatars, heartbeat]) expect(await ask()).to.be.below(first)
      const { messages, serverTime } = await sync(first)
      expect([messages.map((one) => one.time), serverTime]).to.deep.equal([[time], time])
      for (const ask of [heartbeat, avatars]) expect(await ask()).to.equal(first)
      expect((await sync(serverTime)).serverTime).to.be.above(serverTime)
      for (const ask of [heartbeat, avatars]) expect(await ask()).to.be.above(serverTime)
    })

    for (const [name, ask] of [
      ['a sync', sync],
      ['a launch', launch],
      ['a heartbeat', (since: number) => phoneOf(api).register(registration('N0CALL', { since }))],
    ] as const)
      it(`is the cursor that ${name} brought when messages came since, over a restart too`, async () => {
        const time = await receive()
        await ask(time)
        await receive()
        expect([await heartbeat(), await avatars()]).to.deep.equal([time, time])
        await api.close()
        await store.close()
        store = await stores.open()
        api = await serve(store)
        expect([await heartbeat(), await avatars()]).to.deep.equal([time, time])
        expect((await sync(time)).messages).to.have.length(1)
      })
  })
})
