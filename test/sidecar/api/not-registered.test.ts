import { expect } from 'chai'
import { claim, startApi } from '../../support/running-api.ts'

describe('A request for an unregistered callsign', () => {
  // Shows: sidecar C3.4.
  it('sync, avatars and unregister return not_registered for an unregistered callsign', async () => {
    const api = await startApi()
    try {
      for (const [path, members] of [
        ['/v1/sync', { since: 0 }],
        ['/v1/avatars', { stations: ['N0CALL-7'] }],
        ['/v1/unregister', { pushToken: 'token' }],
      ] as const) {
        const { status, body } = await api.post(path, { ...claim('N0CALL'), ...members })
        expect(path).to.deep.equal(path)
        expect(status).to.equal(404)
        expect(body.error).to.equal('not_registered')
      }
    } finally {
      await api.close()
    }
  })
})
