import { createServer } from 'node:http'
import { expect } from 'chai'
import { ListenError, listenHttp } from '../../../sidecar/api/http-listener.ts'

describe('An unusable listen address', () => {
  it('reports a listen address that the machine does not have, with a remedy', async () => {
    const error = await listenHttp(createServer(), 'http', '192.0.2.1', 0).catch((caught: unknown) => caught)
    expect(error).to.be.instanceOf(ListenError).and.include({ code: 'EADDRNOTAVAIL' })
    expect(error).to.have.property('remedy').that.includes('does not belong to this machine')
  })

  it('suggests listening on 0.0.0.0 instead of :: if the machine has no IPv6', () => {
    const { remedy } = new ListenError(Object.assign(new Error('listen :::443'), { code: 'EAFNOSUPPORT' }))
    expect(remedy).to.match(/no IPv6.* 0\.0\.0\.0 instead of ::/)
  })
})
