import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect } from 'chai'
import { makeCertificates } from '../../../../fixtures/certificate.ts'
import {
  type SubscriptionJson,
  startWebPush,
  type WebPushFault,
  type WebPushFixture,
} from '../../../../fixtures/push/webpush.ts'
import type { WebPushSettings } from '../../../../sidecar/config/settings.ts'
import { makeVapidKeys } from '../../../../sidecar/config/vapid-keys.ts'
import { createLog } from '../../../../sidecar/log.ts'
import type { Notification, PushGateway, PushOutcome } from '../../../../sidecar/push/gateway/gateway.ts'
import { openWebPush, type WebPushSurroundings } from '../../../../sidecar/push/web-push/web-push.ts'
import { startConnectProxy } from '../../../support/connect-proxy.ts'
import { type DnsServer, startDnsServer } from '../../../support/dns-server.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

const KEYS = makeVapidKeys()
const NOTIFICATION: Notification = {
  title: 'W1AW',
  body: 'Hello',
  collapseId: 'aprs-N0CALL-7',
  data: { fromCall: 'W1AW', seqId: '1', to: 'N0CALL-7', count: '1', collapseId: 'aprs-N0CALL-7' },
}
const ACCEPTED: PushOutcome = { kind: 'accepted' }

describe('Web Push through web-push', () => {
  let lines: string[]
  let clock: FakeClock
  let service: WebPushFixture
  let phone: SubscriptionJson
  let gateway: PushGateway
  const closers: (() => Promise<unknown>)[] = []
  const closing = <Part extends { close(): Promise<unknown> }>(part: Part): Part => {
    closers.push(() => part.close())
    return part
  }
  const open = (settings: Partial<WebPushSettings> = {}, surroundings: WebPushSurroundings = {}, keys = KEYS) =>
    closing(
      openWebPush(
        { ...service.settings, keyFile: null, ...settings },
        keys,
        createLog('debug', { write: (line) => lines.push(line) }),
        { clock, ...surroundings },
      ),
    )
  const send = (to: SubscriptionJson = phone, by = gateway) => by.send(JSON.stringify(to), NOTIFICATION)

  beforeEach(async () => {
    lines = []
    clock = new FakeClock(Date.now())
    service = closing(await startWebPush())
    phone = service.subscribe(KEYS.publicKey)
    gateway = open()
  })
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close()
  })

  it('delivers what only the phone can read: title, body and the data keys, at once, for a day, signed for its push service', async () => {
    expect(await send()).to.deep.equal(ACCEPTED)
    const [{ topic, size, ...received } = expect.fail('nothing came')] = service.received
    expect(received).to.deep.equal({
      endpoint: phone.endpoint,
      ttl: 86_400,
      urgency: 'high',
      subject: service.settings.subject,
      payload: { title: 'W1AW', body: 'Hello', ...NOTIFICATION.data },
    })
    expect(size).to.be.above(86 + 17)
  })

  it('folds by a topic that is the same for a station after a restart too, and does not name it', async () => {
    await send()
    await gateway.send(JSON.stringify(phone), { ...NOTIFICATION, collapseId: 'aprs-N0CALL-8' })
    await send(phone, open())
    await send(service.subscribe(), open({}, {}, makeVapidKeys()))
    const [first, other, again, elsewhere] = service.received.map(({ topic }) => topic)
    expect(first).to.match(/^[\w-]{32}$/)
    expect(again).to.equal(first)
    expect(other).to.not.equal(first)
    expect(elsewhere).to.not.equal(first)
  })

  it('fits what is too big into the limit to the byte', async () => {
    const data = { ...NOTIFICATION.data, fromAvatarImage: 'A'.repeat(3000) }
    expect(await gateway.send(JSON.stringify(phone), { ...NOTIFICATION, body: 'x'.repeat(9000), data })).to.deep.equal(
      ACCEPTED,
    )
    const [received] = service.received
    expect(received?.size).to.equal(4096)
    expect(received?.payload).to.include(NOTIFICATION.data).and.not.to.have.property('fromAvatarImage')
  })

  it('keeps a connection for the next notification', async () => {
    for (let sent = 1; sent <= 10; sent += 1) {
      await send()
      // An answer counts before its end has come, which a connection has to wait for.
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(service.received).to.have.length(10)
    expect(service.connections).to.be.below(5)
  })

  const rows: readonly (readonly [WebPushFault, PushOutcome['kind'], RegExp])[] = [
    [{ status: 404 }, 'token_gone', /does not know the subscription \(status 404\)/],
    [{ status: 410 }, 'token_gone', /has ended/],
    [{ status: 400, text: '{"reason":"VapidPkHashMismatch"}' }, 'token_gone', /another key/],
    [{ status: 401, text: '{"message":"VAPID public key mismatch"}' }, 'token_gone', /another key/],
    [{ status: 401 }, 'try_later', /clock.*push\.webpush\.subject/],
    [{ status: 403, text: '{"reason":"BadJwtToken"}' }, 'try_later', /clock.*push\.webpush\.subject/],
    [{ status: 408 }, 'try_later', /in vain/],
    [{ status: 413 }, 'try_later', /too big/],
    [{ status: 429 }, 'try_later', /too many/],
    [{ status: 500 }, 'try_later', /not available/],
    [{ status: 503 }, 'try_later', /not available/],
    [{ status: 507 }, 'try_later', /not available/],
    [{ status: 400, text: 'no' }, 'try_later', /refuses the notification \(status 400\)$/],
    [{ status: 406 }, 'try_later', /refuses the notification/],
    ['reset', 'try_later', /cannot be reached \(ECONNRESET\)$/],
    [{ status: 410, stalled: true }, 'token_gone', /has ended/],
    [{ status: 503, stalled: true }, 'try_later', /not available/],
    [{ status: 400, endless: true }, 'try_later', /\(status 400\)$/],
  ]
  for (const [fault, kind, words] of rows) {
    it(`takes ${JSON.stringify(fault)} for ${kind}, asking once`, async () => {
      service.fail(fault)
      const outcome = await send()
      expect(outcome).to.have.property('kind', kind)
      expect(outcome).not.to.have.property('unasked')
      expect(outcome).to.have.property('reason').that.matches(words)
      expect(service.attempts).to.equal(1)
      expect(await send()).to.deep.equal(ACCEPTED)
    })
  }

  it('passes on how long to wait, in seconds or as a date', async () => {
    service.fail({ status: 429, headers: { 'retry-after': '120' } })
    expect(await send()).to.have.property('afterMs', 120_000)
    service.fail({ status: 503, headers: { 'retry-after': new Date(clock.now() + 60_000).toUTCString() } })
    expect(await send())
      .to.have.property('afterMs')
      .that.is.within(58_000, 60_000)
  })

  it('counts an acceptance whose answer has no end or never comes to it, and drops the connection', async () => {
    service.fail({ status: 201, endless: true })
    expect(await send()).to.deep.equal(ACCEPTED)
    await service.waitForDisconnects(1)
    service.fail({ status: 201, stalled: true })
    expect(await send()).to.deep.equal(ACCEPTED)
    await gateway.close()
    await service.waitForDisconnects(2)
  })

  it('does not follow a redirect', async () => {
    const elsewhere = closing(await startWebPush())
    for (const status of [301, 302, 307, 308]) {
      service.fail({ status, headers: { location: `${elsewhere.url}/push/x` } })
      expect(await send()).to.include({ kind: 'try_later' })
    }
    expect(elsewhere.attempts).to.equal(0)
  })

  it('takes a subscription that was made for another key for gone', async () => {
    const outcome = await send(service.subscribe(makeVapidKeys().publicKey))
    expect(outcome).to.include({ kind: 'token_gone' })
    expect(outcome).to.have.property('reason').that.includes('another key')
  })

  it('takes an end of the subscription, and what is none, for gone', async () => {
    service.unsubscribe(phone)
    expect(await send()).to.include({ kind: 'token_gone' })
    const unasked = { kind: 'token_gone', unasked: true }
    expect(await gateway.send('not a subscription', NOTIFICATION)).to.include(unasked)
    expect(service.attempts).to.equal(1)
  })

  it('tries later when nobody listens, and when the server cannot be verified', async () => {
    const distrustful = open({ caFile: null })
    expect(await send(phone, distrustful))
      .to.have.property('reason')
      .that.includes('UNABLE_TO_VERIFY_LEAF_SIGNATURE')
    await send()
    await service.close()
    const outcome = await send()
    expect(outcome).to.include({ kind: 'try_later' })
    expect(outcome)
      .to.have.property('reason')
      .that.matches(/cannot be reached \(ECONN(REFUSED|RESET)\)/)
  })

  it('ends a call after 10 s, with its connection', async () => {
    service.fail('hang')
    const sending = send()
    await service.waitForAttempts(1)
    await clock.advance(9_999)
    expect(await Promise.race([sending, 'waiting'])).to.equal('waiting')
    await clock.advance(1)
    expect(await sending).to.deep.equal({ kind: 'try_later', reason: 'no answer within 10 s' })
    await service.waitForDisconnects(1)
    expect(clock.pending).to.equal(0)
  })

  it('ends a call after 10 s when TLS never begins', async () => {
    const silent = createServer((socket) => socket.resume())
    const connected = once(silent, 'connection')
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const { port } = silent.address() as { port: number }
    const sending = send({ ...phone, endpoint: `https://127.0.0.1:${port}/x` })
    await connected
    await clock.advance(10_000)
    expect(await sending).to.deep.equal({ kind: 'try_later', reason: 'no answer within 10 s' })
    // Ends only when the client has let go of its connection.
    await new Promise((resolve) => silent.close(resolve))
  })

  it('ends what is under way when it is closed, takes nothing more, and can be closed twice', async () => {
    service.fail('hang')
    const sending = send()
    await service.waitForAttempts(1)
    await Promise.all([gateway.close(), gateway.close()])
    const closed = { kind: 'try_later', reason: 'the gateway is closed' }
    expect(await sending).to.deep.equal(closed)
    expect(await send()).to.deep.equal(closed)
    await service.waitForDisconnects(1)
  })

  it('puts nothing of the endpoint but its host, no secret and no key into log and outcomes', async () => {
    service.fail({ status: 410, text: phone.endpoint })
    service.fail('reset')
    const outcomes = [await send(), await send(), await send({ ...phone, endpoint: `${phone.endpoint}#x` })]
    const written = JSON.stringify([outcomes, lines])
    expect(lines).to.have.length.above(2)
    expect(written).to.include(new URL(phone.endpoint).host)
    for (const secret of [new URL(phone.endpoint).pathname, phone.keys.auth, KEYS.privateKey])
      expect(written).not.to.include(secret)
  })

  it('names the CA file that is missing', () => {
    expect(() => open({ caFile: '/nowhere/ca.pem' })).to.throw(
      'push.webpush.caFile: /nowhere/ca.pem cannot be read (ENOENT).',
    )
  })

  describe('where private networks are not allowed', () => {
    const PUBLIC_NAME = 'push.example.org'
    let dns: DnsServer
    let guarded: PushGateway
    beforeEach(async () => {
      const certificates = await makeCertificates({ names: [PUBLIC_NAME] })
      service = closing(await startWebPush({ certificates, name: PUBLIC_NAME }))
      phone = service.subscribe()
      dns = closing(await startDnsServer())
      guarded = open({ allowPrivate: false }, { dnsServers: [dns.server] })
    })

    /** The endpoint of the phone on another host. */
    const named = (name: string) => ({ ...phone, endpoint: phone.endpoint.replace(PUBLIC_NAME, name) })
    const REFUSED = { kind: 'token_gone', unasked: true }

    it('an endpoint there is never connected to', async () => {
      for (const host of ['127.0.0.1', '127.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '0x7f000001'])
        expect(await send(named(host), guarded), host).to.include(REFUSED)
      expect(service.connections).to.equal(0)
    })

    for (const addresses of [
      ['127.0.0.1'],
      ['::1'],
      ['::ffff:7f00:1'],
      ['10.0.0.1'],
      ['169.254.169.254'],
      ['fd00::1'],
      ['8.8.8.8', '127.0.0.1'],
      ['8.8.8.8', '::1'],
    ])
      it(`a name that means ${addresses.join(' and ')} is never connected to`, async () => {
        dns.addresses.set(PUBLIC_NAME, addresses)
        const outcome = await send(named(PUBLIC_NAME), guarded)
        expect(outcome).to.include(REFUSED)
        expect(outcome).to.have.property('reason').that.includes('push.webpush.allowPrivate')
        expect(service.connections).to.equal(0)
      })

    it('a name that nobody knows is tried later', async () => {
      const outcome = await send(named('unknown.example.org'), guarded)
      expect(outcome).to.include({ kind: 'try_later' })
      expect(outcome).to.have.property('reason').that.includes('ENOTFOUND')
    })

    it('what is resolved while it closes is not connected to', async () => {
      const silent = closing(await startDnsServer())
      const waiting = open({ allowPrivate: false }, { dnsServers: [silent.server] })
      await silent.close()
      closers.splice(closers.length - 2, 1)
      const sending = send(named(PUBLIC_NAME), waiting)
      await waiting.close()
      expect(await sending).to.deep.equal({ kind: 'try_later', reason: 'the gateway is closed' })
    })

    describe('and a proxy is configured', () => {
      const saved = { ...process.env }
      let tunnels: readonly string[]
      beforeEach(async () => {
        for (const name of ['ALL_PROXY', 'NO_PROXY', 'all_proxy', 'no_proxy', 'https_proxy']) delete process.env[name]
        const proxy = closing(await startConnectProxy({ to: Number(new URL(service.url).port) }))
        tunnels = proxy.tunnels
        process.env.HTTPS_PROXY = `http://127.0.0.1:${proxy.port}`
      })
      afterEach(() => {
        delete process.env.HTTPS_PROXY
        Object.assign(process.env, saved)
      })

      it('a public name goes by it', async () => {
        dns.addresses.set(PUBLIC_NAME, ['8.8.8.8', '2001:4860:4860::8888'])
        expect(await send(named(PUBLIC_NAME), guarded)).to.deep.equal(ACCEPTED)
        expect(tunnels).to.deep.equal([new URL(named(PUBLIC_NAME).endpoint).host])
      })

      it('so does a name that only the proxy can look up', async () => {
        expect(await send(named(PUBLIC_NAME), guarded)).to.deep.equal(ACCEPTED)
        expect(tunnels).to.have.length(1)
      })

      it('it is never asked for what is private, by address, by name or by what the name means', async () => {
        dns.addresses.set(PUBLIC_NAME, ['10.0.0.1'])
        for (const host of [PUBLIC_NAME, '127.0.0.1', '[fd00::1]', 'intranet', 'ntfy.local'])
          expect(await send(named(host), guarded), host).to.include(REFUSED)
        expect(tunnels).to.deep.equal([])
      })
    })
  })
})
