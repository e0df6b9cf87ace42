import { once } from 'node:events'
import { expect } from 'chai'
import { startApns } from '../../../fixtures/push/apns.ts'
import { startFcm } from '../../../fixtures/push/fcm.ts'
import { createLog } from '../../../sidecar/log.ts'
import { openApns } from '../../../sidecar/push/apns/apns.ts'
import { openFcm } from '../../../sidecar/push/fcm/fcm.ts'
import type { Notification, PushGateway } from '../../../sidecar/push/gateway/gateway.ts'
import { throughProxy } from '../../../sidecar/push/gateway/tunnel.ts'
import { type ConnectProxyOptions, startConnectProxy } from '../../support/connect-proxy.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const NAMES = ['HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY'].flatMap((name) => [name, name.toLowerCase()])
const NOTIFICATION: Notification = {
  title: 'W1AW',
  body: 'Hello',
  collapseId: 'aprs-N0CALL-7',
  data: { fromCall: 'W1AW', seqId: '1', to: 'N0CALL-7', count: '1', collapseId: 'aprs-N0CALL-7' },
}

describe('a proxy on the way to the push gateways', () => {
  const open: (() => unknown)[] = []
  let environment: NodeJS.ProcessEnv
  let lines: string[]
  beforeEach(() => {
    lines = []
    environment = { ...process.env }
    for (const name of NAMES) delete process.env[name]
  })
  afterEach(async () => {
    for (const name of NAMES) delete process.env[name]
    Object.assign(process.env, environment)
    for (const close of open.splice(0).reverse()) await close()
  })
  const log = () => createLog('debug', { write: (line) => lines.push(line) })

  async function startProxy(options?: ConnectProxyOptions, credentials = 'me:p%40ss') {
    const proxy = await startConnectProxy(options)
    open.push(proxy.close)
    process.env.HTTPS_PROXY = `http://${credentials}@127.0.0.1:${proxy.port}`
    return proxy
  }

  /** Each real client before its gateway. */
  const kinds: readonly (readonly [string, string, () => Promise<{ gateway: PushGateway; received: () => number }>])[] =
    [
      [
        'APNs',
        'aB'.repeat(32),
        async () => {
          const fixture = await startApns()
          const gateway = openApns(fixture.settings, log(), new FakeClock(Date.now()))
          open.push(fixture.close, () => gateway.close())
          return { gateway, received: () => fixture.received.length }
        },
      ],
      [
        'FCM',
        'registration-token:1234567890',
        async () => {
          const fixture = await startFcm()
          const gateway = openFcm(fixture.settings, log(), new FakeClock(Date.now()))
          open.push(fixture.close, () => gateway.close())
          return { gateway, received: () => fixture.received.length }
        },
      ],
    ]

  for (const [name, token, start] of kinds) {
    it(`is asked for the tunnels that notifications go to ${name} by`, async () => {
      const proxy = await startProxy({ credentials: 'me:p@ss' })
      const { gateway, received } = await start()
      for (let sent = 1; sent <= 3; sent += 1) {
        expect(await gateway.send(token, NOTIFICATION)).to.deep.equal({ kind: 'accepted' })
        expect(received()).to.equal(sent)
      }
      expect(proxy.tunnels.length).to.be.within(1, 2)
      await gateway.close()
      expect(lines.join('')).to.not.match(/p@ss|p%40ss/)
    })

    it(`is passed by on the way to ${name} where NO_PROXY says so`, async () => {
      const proxy = await startProxy()
      process.env.NO_PROXY = '127.0.0.1,localhost'
      const { gateway } = await start()
      expect(await gateway.send(token, NOTIFICATION)).to.deep.equal({ kind: 'accepted' })
      expect(proxy.tunnels).to.deep.equal([])
    })

    it(`that refuses keeps notifications to ${name} for later, and is never heard as the gateway`, async () => {
      await startProxy({ answer: 'HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n' })
      const { gateway, received } = await start()
      expect(await gateway.send(token, NOTIFICATION)).to.include({ kind: 'try_later' })
      expect(received()).to.equal(0)
      expect(lines.join('')).to.not.match(/p@ss|p%40ss/)
    })
  }

  for (const [written, meant] of [
    ['m%C3%A9:p%40ss', 'mé:p@ss'],
    ['me:50%off%25', 'me:50%off%'],
  ] as const)
    it(`is shown ${meant} where its address has ${written}`, async () => {
      const proxy = await startProxy({ credentials: meant }, written)
      const fixture = await startApns()
      const gateway = openApns(fixture.settings, log(), new FakeClock(Date.now()))
      open.push(fixture.close, () => gateway.close())
      expect(await gateway.send('aB'.repeat(32), NOTIFICATION)).to.deep.equal({ kind: 'accepted' })
      expect(proxy.tunnels).to.have.length(1)
    })

  it('is reached by http where its address says nothing else', async () => {
    const proxy = await startProxy({ credentials: 'me:p@ss' })
    process.env.HTTPS_PROXY = process.env.HTTPS_PROXY?.replace('http://', '')
    const fixture = await startApns()
    const gateway = openApns(fixture.settings, log(), new FakeClock(Date.now()))
    open.push(fixture.close, () => gateway.close())
    expect(await gateway.send('aB'.repeat(32), NOTIFICATION)).to.deep.equal({ kind: 'accepted' })
    expect(proxy.tunnels).to.have.length(1)
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
