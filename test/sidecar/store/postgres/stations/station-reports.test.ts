import { expect } from 'chai'
import type { PushResult } from '../../../../../sidecar/messages/reports/push-result.ts'
import { message, registration } from '../../sqlite/temporary-stores.ts'
import { postgresStores } from '../postgres-stores.ts'

const ROOM = { android: 10, ios: 10, webpush: 10 }

describe("The operator's reports with several instances", () => {
  const stores = postgresStores()

  // Shows: sidecar O2.1.
  it('every instance reports what another instance pushed and acknowledged', async () => {
    const instance = await stores.open({ instance: 'one' })
    const otherInstance = await stores.open({ instance: 'two' })
    await instance.stations.register(registration('N0CALL', { ackMessages: true }))
    await instance.history.append([message('Hello')], true)
    await stores.shift(2000)
    const [pending] = await otherInstance.reports.list('', 10)
    expect(pending).to.include({ station: 'N0CALL', devices: 1, pending: 1 })
    const result: PushResult = { at: stores.now(), outcome: 'phone_away', reason: 'the phone is offline' }
    for (const claim of await instance.pushes.claim(ROOM)) await instance.pushes.settle(claim, result)
    const [first, second] = await Promise.all([instance.reports.get('N0CALL'), otherInstance.reports.get('N0CALL')])
    expect(second).to.deep.equal(first)
    expect(second?.devices[0]).to.deep.include({ pending: 0, lastPush: result })
    expect(second?.messages[0]?.ackedAt).to.be.a('number')
  })
})
