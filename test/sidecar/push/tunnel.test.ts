import { once } from 'node:events'
import { expect } from 'chai'
import { throughProxy } from '../../../sidecar/push/gateway/tunnel.ts'
import { type ConnectProxyOptions, startConnectProxy } from '../../support/connect-proxy.ts'
import { proxyEnvironment } from '../../support/proxy-environment.ts'
import { ACCEPTED, gatewaySetup } from './gateway.contract.ts'
import { apnsSubject, fcmSubject } from './services.ts'

describe('a proxy on the way to the push gateways', () => {
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

  // Each real client before its gateway.
  for (const [name, subject] of [
    ['APNs', apnsSubject],
    ['FCM', fcmSubject],
  ] as const)
    describe(`to ${name}`, () => {
      const gateway = gatewaySetup<{ readonly received: readonly unknown[]; close(): Promise<void> }>(subject)

      it(`is asked for the tunnels that notifications go to ${name} by`, async () => {
        const proxy = await startProxy({ credentials: 'me:p@ss' })
        for (let sent = 1; sent <= 3; sent += 1) {
          expect(await gateway.send()).to.deep.equal(ACCEPTED)
          expect(gateway.service.received).to.have.length(sent)
        }
        expect(proxy.tunnels.length).to.be.within(1, 2)
        await gateway.gateway.close()
        expect(JSON.stringify(gateway.lines)).to.not.match(/p@ss|p%40ss/)
      })

      it(`is passed by on the way to ${name} where NO_PROXY says so`, async () => {
        const proxy = await startProxy()
        process.env.NO_PROXY = '127.0.0.1,localhost'
        expect(await gateway.send()).to.deep.equal(ACCEPTED)
        expect(proxy.tunnels).to.deep.equal([])
      })

      it(`keeps notifications to ${name} for later when the proxy refuses the tunnel`, async () => {
        await startProxy({ answer: 'HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n' })
        expect(await gateway.send()).to.include({ kind: 'try_later' })
        expect(gateway.service.received).to.deep.equal([])
        expect(JSON.stringify(gateway.lines)).to.not.match(/p@ss|p%40ss/)
      })
    })

  describe('is known by its address, which', () => {
    const index = gatewaySetup(apnsSubject)
    for (const [name, written, meant, scheme] of [
      ['may have characters that are encoded', 'm%C3%A9:p%40ss', 'mé:p@ss', 'http://'],
      ['may have percent signs that encode nothing', 'me:50%off%25', 'me:50%off%', 'http://'],
      ['means http where it says nothing else', 'me:p%40ss', 'me:p@ss', ''],
    ] as const)
      it(name, async () => {
        const proxy = await startProxy({ credentials: meant }, written)
        process.env.HTTPS_PROXY = process.env.HTTPS_PROXY?.replace('http://', scheme)
        expect(await index.send()).to.deep.equal(ACCEPTED)
        expect(proxy.tunnels).to.have.length(1)
      })
  })

  it('is not reached by http where its address says https', async () => {
    const proxy = await startProxy()
    process.env.HTTPS_PROXY = `https://127.0.0.1:${proxy.port}`
    const { socket } = throughProxy('127.0.0.1', 443) ?? expect.fail('no tunnel')
    await once(socket, 'error')
    expect(proxy.tunnels).to.deep.equal([])
  })

  it('on another machine is never asked for loopback', () => {
    process.env.HTTPS_PROXY = 'http://proxy.example:3128'
    for (const host of ['127.0.0.1', 'localhost', '::1']) expect(throughProxy(host, 443), host).to.equal(undefined)
  })
})
