import { once } from 'node:events'
import { request } from 'node:https'
import { expect } from 'chai'
import { startWebPush } from '../../../fixtures/push/webpush.ts'
import { WebPushAgent } from '../../../sidecar/push/web-push-agent.ts'
import { startDnsServer } from '../../support/dns-server.ts'

describe('The connections to push services', () => {
  it('leave nothing behind of names that come to nothing', async () => {
    const dns = await startDnsServer()
    dns.addresses.set('private.example.org', ['10.0.0.1'])
    const agent = new WebPushAgent({ allowPrivate: false, dnsServers: [dns.server] })
    for (const name of ['unknown.example.org', 'private.example.org', 'localhost', '127.0.0.1'])
      await once(request(`https://${name}/`, { agent }).end(), 'error')
    expect(agent.sockets).to.deep.equal({})
    agent.destroy()
    await dns.close()
  })

  it('wait for another notification in a bounded number', async () => {
    const service = await startWebPush()
    const agent = new WebPushAgent({ allowPrivate: true })
    const get = async () => {
      const sending = request(service.url, { agent, rejectUnauthorized: false }).end()
      const [answer] = await once(sending, 'response')
      await answer.resume().toArray()
    }
    await Promise.all(Array.from({ length: 40 }, get))
    await service.waitForDisconnects(8)
    expect(Object.values(agent.freeSockets).flat()).to.have.length(32)
    agent.destroy()
    await service.close()
  })
})
