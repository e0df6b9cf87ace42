import { once } from 'node:events'
import { request } from 'node:https'
import { expect } from 'chai'
import { startWebPush } from '../../../fixtures/push/webpush.ts'
import { WebPushAgent } from '../../../sidecar/push/web-push-agent.ts'
import { startConnectProxy } from '../../support/connect-proxy.ts'
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

  it('are all ended when it closes, also those to a name that came to nothing once more', async () => {
    const saved = { ...process.env }
    const [service, dns] = await Promise.all([startWebPush({ name: 'push.example.org' }), startDnsServer()])
    const proxy = await startConnectProxy({ to: Number(new URL(service.url).port) })
    try {
      for (const name of ['ALL_PROXY', 'NO_PROXY', 'all_proxy', 'no_proxy', 'https_proxy']) delete process.env[name]
      process.env.HTTPS_PROXY = `http://127.0.0.1:${proxy.port}`
      const agent = new WebPushAgent({ allowPrivate: false, dnsServers: [dns.server] })
      const get = () => request(service.url, { agent, rejectUnauthorized: false }).end()
      dns.addresses.set('push.example.org', ['8.8.8.8'])
      service.fail('hang')
      const waiting = get()
      await service.waitForAttempts(1)
      dns.addresses.set('push.example.org', ['10.0.0.1'])
      const [refused] = await once(get(), 'error')
      expect(refused).to.have.property('code', 'ADDRESS_NOT_PUBLIC')
      agent.destroy()
      await Promise.all([once(waiting, 'error'), service.waitForDisconnects(1)])
    } finally {
      delete process.env.HTTPS_PROXY
      Object.assign(process.env, saved)
      await Promise.all([service.close(), dns.close(), proxy.close()])
    }
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
