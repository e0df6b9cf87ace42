import { once } from 'node:events'
import { request } from 'node:https'
import { expect } from 'chai'
import { makeCertificates } from '../../../../fixtures/certificate.ts'
import { startWebPush } from '../../../../fixtures/push/webpush.ts'
import { WebPushAgent } from '../../../../sidecar/push/web-push/web-push-agent.ts'
import { startConnectProxy } from '../../../support/connect-proxy.ts'
import { startDnsServer } from '../../../support/dns-server.ts'
import { proxyEnvironment } from '../../../support/proxy-environment.ts'

describe('The connections to push services', () => {
  proxyEnvironment()

  // Shows: sidecar C14.8, C14.10.
  it('refuses push services that resolve to private addresses, and keeps no sockets', async () => {
    const [service, dns] = await Promise.all([startWebPush(), startDnsServer()])
    const { port } = new URL(service.url)
    dns.addresses.set('v4.example.org', ['127.0.0.1'])
    dns.addresses.set('v6.example.org', ['8.8.8.8', '::1'])
    dns.addresses.set('among.example.org', ['8.8.8.8', '10.0.0.1'])
    const agent = new WebPushAgent({ allowPrivate: false, dnsServers: [dns.server] })
    const failure = async (host: string) => {
      const tunnelled = request(`https://${host}:${port}/`, { agent }).end()
      const [error] = await once(tunnelled, 'error')
      return error.code
    }
    const names = ['localhost', 'intranet', 'v4.example.org', 'v6.example.org', 'among.example.org']
    for (const host of ['127.0.0.1', '[::1]', '[::ffff:7f00:1]', '0', ...names])
      expect(await failure(host), host).to.equal('ADDRESS_NOT_PUBLIC')
    expect(await failure('unknown.example.org')).to.equal('ENOTFOUND')
    expect(service.connections).to.equal(0)
    expect(agent.sockets).to.deep.equal({})
    agent.destroy()
    await Promise.all([service.close(), dns.close()])
  })

  it('closing the HTTP agent ends connections to hosts that now have private addresses', async () => {
    const certificates = await makeCertificates({ names: ['push.example.org'] })
    const [service, dns] = await Promise.all([
      startWebPush({ certificates, name: 'push.example.org' }),
      startDnsServer(),
    ])
    const proxy = await startConnectProxy({ to: Number(new URL(service.url).port) })
    process.env.HTTPS_PROXY = `http://127.0.0.1:${proxy.port}`
    const ca = certificates.ca.cert
    const agent = new WebPushAgent({ allowPrivate: false, ca, dnsServers: [dns.server] })
    const get = () => request(service.url, { agent }).end()
    dns.addresses.set('push.example.org', ['8.8.8.8'])
    service.fail('hang')
    const waiting = get()
    await service.waitForAttempts(1)
    dns.addresses.set('push.example.org', ['10.0.0.1'])
    const [refused] = await once(get(), 'error')
    expect(refused).to.have.property('code', 'ADDRESS_NOT_PUBLIC')
    agent.destroy()
    await Promise.all([once(waiting, 'error'), service.waitForDisconnects(1)])
    await Promise.all([service.close(), dns.close(), proxy.close()])
  })

  // Shows: sidecar C14.10.
  it('keeps at most 32 idle connections to one push service', async () => {
    const certificates = await makeCertificates()
    const service = await startWebPush({ certificates })
    const agent = new WebPushAgent({ allowPrivate: true, ca: certificates.ca.cert })
    const get = async () => {
      const sending = request(service.url, { agent }).end()
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
