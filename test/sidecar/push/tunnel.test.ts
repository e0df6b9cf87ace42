import { once } from 'node:events'
import { expect } from 'chai'
import { throughProxy } from '../../../sidecar/push/gateway/tunnel.ts'
import { type ConnectProxyOptions, startConnectProxy } from '../../support/connect-proxy.ts'
import { proxyEnvironment } from '../../support/proxy-environment.ts'
import { ACCEPTED, gatewaySetup } from './gateway.contract.ts'
import { apnsSubject, fcmSubject } from './services.ts'

describe('A proxy between the sidecar and the push gateways', () => {
  proxyEnvironment()
  const proxies: { close(): Promise<void> }[] = []
  afterEach(async () => {
    for (const proxy of proxies.splice(0)) await proxy.close()
  })

  async function startProxy(options?: ConnectProxyOptions, credentials = 'me:p%40ss') {
    const proxy = await startConnectProxy(options)
    proxies.push(proxy)
    process.env.HTTPS_PROXY = `http://${credentials}@127.0.0.1:${proxy.port}`
    return proxy
  }

  // Tests the real client library of each push service.
  for (const [name, subject] of [
    ['APNs', apnsSubject],
    ['FCM', fcmSubject],
  ] as const)
    describe(`A proxy for notifications to ${name}`, () => {
      const gateway = gatewaySetup<{ readonly received: readonly unknown[]; close(): Promise<void> }>(subject)

      it(`sends notifications to ${name} through the tunnel of the proxy`, async () => {
        const proxy = await startProxy({ credentials: 'me:p@ss' })
        for (let sent = 1; sent <= 3; sent += 1) {
          expect(await gateway.send()).to.deep.equal(ACCEPTED)
          expect(gateway.service.received).to.have.length(sent)
        }
        expect(proxy.tunnels.length).to.be.within(1, 2)
        await gateway.gateway.close()
        expect(JSON.stringify(gateway.lines)).to.not.match(/p@ss|p%40ss/)
      })

      it(`bypasses the proxy to ${name} if NO_PROXY lists the host`, async () => {
        const proxy = await startProxy()
        process.env.NO_PROXY = '127.0.0.1,localhost'
        expect(await gateway.send()).to.deep.equal(ACCEPTED)
        expect(proxy.tunnels).to.deep.equal([])
      })

      it(`tries notifications to ${name} later if the proxy refuses the tunnel`, async () => {
        await startProxy({ answer: 'HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n' })
        expect(await gateway.send()).to.include({ kind: 'try_later' })
        expect(gateway.service.received).to.deep.equal([])
        expect(JSON.stringify(gateway.lines)).to.not.match(/p@ss|p%40ss/)
      })
    })

  describe('The address of the proxy', () => {
    const index = gatewaySetup(apnsSubject)
    for (const [name, written, meant, scheme] of [
      ['decodes percent-encoded characters in the proxy credentials', 'm%C3%A9:p%40ss', 'mé:p@ss', 'http://'],
      ['accepts percent signs in the proxy credentials that encode nothing', 'me:50%off%25', 'me:50%off%', 'http://'],
      ['a proxy address without a scheme means http', 'me:p%40ss', 'me:p@ss', ''],
    ] as const)
      it(name, async () => {
        const proxy = await startProxy({ credentials: meant }, written)
        process.env.HTTPS_PROXY = process.env.HTTPS_PROXY?.replace('http://', scheme)
        expect(await index.send()).to.deep.equal(ACCEPTED)
        expect(proxy.tunnels).to.have.length(1)
      })
  })

  it('never connects by plain http to a proxy with an https address', async () => {
    const proxy = await startProxy()
    process.env.HTTPS_PROXY = `https://127.0.0.1:${proxy.port}`
    const { socket } = throughProxy('127.0.0.1', 443) ?? expect.fail('no tunnel')
    await once(socket, 'error')
    expect(proxy.tunnels).to.deep.equal([])
  })

  it('a proxy on another machine is never used for loopback addresses', () => {
    process.env.HTTPS_PROXY = 'http://proxy.example:3128'
    for (const host of ['127.0.0.1', 'localhost', '::1']) expect(throughProxy(host, 443), host).to.equal(undefined)
  })
})
