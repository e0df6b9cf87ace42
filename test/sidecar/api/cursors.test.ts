import { expect } from 'chai'
import { type Calls, createCalls } from '../../../sidecar/client/index.ts'
import { claim, type RunningApi, registration, startApi } from '../../support/running-api.ts'
import { message, stampOf, temporaryStores } from '../store/sqlite/temporary-stores.ts'

describe('A server time', () => {
  const stores = temporaryStores()
  let api: RunningApi
  let phone: Calls
  afterEach(() => api.close())
  const serve = async () => {
    api = await startApi({ over: { store: await stores.open(), clock: stores.clock } })
    phone = createCalls({ baseUrl: api.api.url })
  }

  describe('of an answer without messages', () => {
    let sent = 0
    beforeEach(async () => {
      await serve()
      await phone.register(registration('N0CALL'))
    })

    const heartbeat = async () => (await phone.register(registration('N0CALL'))).serverTime
    const avatars = async () => (await phone.avatars({ ...claim('N0CALL'), stations: [] })).serverTime
    const sync = (since: number) => phone.sync({ ...claim('N0CALL'), since })
    const launch = (since: number) => phone.register(registration('N0CALL', { wantHistory: true, since }))
    const receive = async () => {
      stores.clock.set(stores.clock.now() + 1000)
      sent += 1
      const time = await stampOf(api.store, message(`text ${sent}`, { to: 'N0CALL-7' }))
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
      ['a heartbeat', (since: number) => phone.register(registration('N0CALL', { since }))],
    ] as const)
      it(`is the cursor that ${name} brought when messages came since, over a restart too`, async () => {
        const time = await receive()
        await ask(time)
        await receive()
        expect([await heartbeat(), await avatars()]).to.deep.equal([time, time])
        await api.close()
        await serve()
        expect([await heartbeat(), await avatars()]).to.deep.equal([time, time])
        expect((await sync(time)).messages).to.have.length(1)
      })
  })
})
