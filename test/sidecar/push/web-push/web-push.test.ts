import { expect } from 'chai'
import { makeCertificates } from '../../../../fixtures/certificate.ts'
import { NTFY } from '../../../../fixtures/push/ntfy.ts'
import {
  type SubscriptionJson,
  startWebPush,
  type WebPushFault,
  type WebPushFixture,
} from '../../../../fixtures/push/webpush.ts'
import type { WebPushSettings } from '../../../../sidecar/config/settings.ts'
import { makeVapidKeys } from '../../../../sidecar/config/vapid-keys.ts'
import type { PushGateway, PushOutcome } from '../../../../sidecar/push/gateway/gateway.ts'
import { SLOTS_PER_HOST } from '../../../../sidecar/push/web-push/host-shares.ts'
import { openWebPush, type WebPushSurroundings } from '../../../../sidecar/push/web-push/web-push.ts'
import { startConnectProxy } from '../../../support/connect-proxy.ts'
import { type DnsServer, startDnsServer } from '../../../support/dns-server.ts'
import { proxyEnvironment } from '../../../support/proxy-environment.ts'
import { ACCEPTED, gatewayContract, gatewaySetup } from '../gateway.contract.ts'
import { BIG, NOTIFICATION, VAPID, webPushSubject } from '../services.ts'

const REFUSED = { kind: 'token_gone', unasked: true }

describe('Web Push through web-push', () => {
  const index = gatewaySetup(webPushSubject)
  const { send } = index
  const phone = (): SubscriptionJson => JSON.parse(index.subject.token)
  const open = (settings: Partial<WebPushSettings> = {}, surroundings: WebPushSurroundings = {}, keys = VAPID) => {
    const all = { ...index.service.settings, keyFile: null, ...settings }
    return index.closing(openWebPush(all, keys, index.log, { clock: index.clock, ...surroundings }))
  }
  const sendBy = (gateway: PushGateway, to: SubscriptionJson, collapseId = NOTIFICATION.collapseId) =>
    gateway.send(JSON.stringify(to), { ...NOTIFICATION, collapseId })

  const answers: readonly (readonly [WebPushFault, PushOutcome['kind'], RegExp])[] = [
    [{ status: 404 }, 'token_gone', /does not know the subscription \(status 404\)/],
    [{ status: 410 }, 'token_gone', /has ended/],
    [{ status: 400, text: '{"reason":"VapidPkHashMismatch"}' }, 'token_gone', /VAPID key/],
    [{ status: 401, text: '{"message":"VAPID public key mismatch"}' }, 'token_gone', /VAPID key/],
    [{ status: 401 }, 'try_later', /clock.*push\.webpush\.subject/],
    [{ status: 403, text: '{"reason":"BadJwtToken"}' }, 'try_later', /clock.*push\.webpush\.subject/],
    [{ status: 408 }, 'try_later', /in time/],
    [{ status: 413 }, 'try_later', /too big/],
    [{ status: 429 }, 'try_later', /too many/],
    [{ status: 500 }, 'try_later', /not available/],
    [{ status: 503 }, 'try_later', /not available/],
    [{ status: 400, text: 'no' }, 'try_later', /refuses the notification \(status 400\)$/],
    [{ status: 406 }, 'try_later', /refuses the notification/],
    ['reset', 'try_later', /cannot be reached \(ECONNRESET\)$/],
    [{ status: 410, stalled: true }, 'token_gone', /has ended/],
    [{ status: 503, stalled: true }, 'try_later', /not available/],
    [{ status: 400, endless: true }, 'try_later', /\(status 400\)$/],
  ]
  gatewayContract<WebPushFault, WebPushFixture>(index, {
    answers: [
      ...answers.map(
        ([fault, ...rest]) =>
          [
            `maps answer ${JSON.stringify(fault).replace(/text":|(?:reason|message)\\":|["{}\\]/g, '')} to ${rest[0]}`,
            fault,
            ...rest,
          ] as const,
      ),
      [
        'recognizes from an ntfy server that a phone is offline',
        NTFY.phoneAway,
        'phone_away',
        /offline phone \(status 507\)$/,
      ],
      [
        'names the access rules of an ntfy server that forbids access',
        NTFY.closed,
        'try_later',
        /its access rules must .*status 403/,
      ],
      [
        'names the access rules of an ntfy server that demands a user',
        NTFY.unauthorized,
        'try_later',
        /its access rules must/,
      ],
    ],
    unreachable: /cannot be reached \(ECONN(REFUSED|RESET)\)/,
    leaks(token) {
      const { endpoint, keys } = JSON.parse(token)
      const answers = [{ status: 410, text: endpoint }, 'reset'] as const
      return { answers, tokens: [JSON.stringify({ endpoint: `${endpoint}#x`, keys })] }
    },
    shownOf: (token) => new URL(JSON.parse(token).endpoint).host,
    secrets: () => [new URL(phone().endpoint).pathname, phone().keys.auth, VAPID.privateKey],
  })

  // Shows: sidecar C14.2.
  it('Web Push encrypts title, body and data, with high urgency and a TTL of a day', async () => {
    expect(await send()).to.deep.equal(ACCEPTED)
    const [{ topic, size, ...received } = expect.fail('nothing came')] = index.service.received
    expect(received).to.deep.equal({
      endpoint: phone().endpoint,
      ttl: 86_400,
      urgency: 'high',
      subject: index.service.settings.subject,
      payload: { title: 'W1AW', body: 'Hello', ...NOTIFICATION.data },
    })
    expect(size).to.be.above(86 + 17)
  })

  // Shows: sidecar C14.4.
  it('the Web Push topic is stable over restarts and does not reveal the station', async () => {
    const otherKeys = makeVapidKeys()
    await sendBy(index.gateway, phone())
    await sendBy(index.gateway, phone(), 'aprs-N0CALL-8')
    await sendBy(open(), phone())
    await sendBy(open({}, {}, otherKeys), index.service.subscribe(otherKeys.publicKey))
    const [first, second, repeated, elsewhere] = index.service.received.map(({ topic }) => topic)
    expect(first).to.match(/^[\w-]{32}$/)
    expect(repeated).to.equal(first)
    expect(second).to.not.equal(first)
    expect(elsewhere).to.not.equal(first)
  })

  // Shows: sidecar C14.3.
  it('shortens a notification that is too big for Web Push to exactly 4096 bytes', async () => {
    expect(await send(index.subject.token, BIG)).to.deep.equal(ACCEPTED)
    const [received] = index.service.received
    expect(received?.size).to.equal(4096)
    expect(received?.payload).to.include(NOTIFICATION.data).and.not.to.have.property('fromAvatarImage')
  })

  it('reuses a connection to a push service for later notifications', async () => {
    // An answer may count before it has ended, but only then is its connection free. So repeat until one is reused.
    while (index.service.connections === index.service.received.length) await send()
  })

  // Shows: sidecar C14.6.
  it("reads a push service's Retry-After header, in seconds or as a date", async () => {
    index.service.fail({ status: 429, headers: { 'retry-after': '120' } })
    expect(await send()).to.have.property('afterMs', 120_000)
    index.service.fail({ status: 503, headers: { 'retry-after': new Date(index.clock.now() + 60_000).toUTCString() } })
    expect(await send())
      .to.have.property('afterMs')
      .that.is.within(58_000, 60_000)
  })

  // Shows: sidecar C14.10.
  it('accepts a 201 response with an endless or stalled body, and ends the connection', async () => {
    index.service.fail({ status: 201, endless: true })
    expect(await send()).to.deep.equal(ACCEPTED)
    await index.service.waitForDisconnects(1)
    index.service.fail({ status: 201, stalled: true })
    expect(await send()).to.deep.equal(ACCEPTED)
    await index.gateway.close()
    await index.service.waitForDisconnects(2)
  })

  it('a push service that hangs occupies only SLOTS_PER_HOST parallel requests', async () => {
    const certificates = await makeCertificates({ names: ['localhost'] })
    const hanging = index.closing(await startWebPush({ certificates }))
    const working = index.closing(await startWebPush({ certificates, name: 'localhost' }))
    const gateway = open({ ...hanging.settings })
    const [stuck, second] = [hanging, working].map((service) => service.subscribe(VAPID.publicKey))
    hanging.fail('hang', SLOTS_PER_HOST)
    const waiting = Array.from({ length: SLOTS_PER_HOST }, () => sendBy(gateway, stuck!))
    expect(await sendBy(gateway, stuck!)).to.include({ kind: 'busy', unasked: true })
    expect(await sendBy(gateway, second!)).to.deep.equal(ACCEPTED)
    await hanging.waitForAttempts(SLOTS_PER_HOST)
    await index.clock.advance(10_000)
    for (const outcome of await Promise.all(waiting)) expect(outcome).to.include({ kind: 'try_later' })
    expect(await sendBy(gateway, stuck!)).to.deep.equal(ACCEPTED)
  })

  // Shows: sidecar C14.9.
  it('does not follow a redirect of a push service', async () => {
    const elsewhere = index.closing(await startWebPush())
    for (const status of [301, 302, 307, 308]) {
      index.service.fail({ status, headers: { location: `${elsewhere.url}/push/x` } })
      expect(await send()).to.include({ kind: 'try_later' })
    }
    expect(elsewhere.attempts).to.equal(0)
  })

  // Shows: sidecar C14.5.
  it('reports a Web Push subscription that ended or is malformed as gone', async () => {
    index.service.unsubscribe(phone())
    expect(await send()).to.include({ kind: 'token_gone' })
    expect(await send('not a subscription')).to.include(REFUSED)
    expect(index.service.attempts).to.equal(1)
  })

  describe('Web Push if private networks are not allowed', () => {
    const PUBLIC_NAME = 'push.example.org'
    let service: WebPushFixture
    let dns: DnsServer
    let guarded: PushGateway
    let phone: SubscriptionJson
    beforeEach(async () => {
      const certificates = await makeCertificates({ names: [PUBLIC_NAME] })
      service = index.closing(await startWebPush({ certificates, name: PUBLIC_NAME }))
      phone = service.subscribe()
      dns = index.closing(await startDnsServer())
      guarded = open({ ...service.settings, allowPrivate: false }, { dnsServers: [dns.server] })
    })

    const sendTo = (name: string, gateway = guarded) =>
      sendBy(gateway, { ...phone, endpoint: phone.endpoint.replace(PUBLIC_NAME, name) })

    it('does not connect to a push service that is resolved only after close', async () => {
      const silent = await startDnsServer()
      const waiting = open({ allowPrivate: false }, { dnsServers: [silent.server] })
      await silent.close()
      const sending = sendTo(PUBLIC_NAME, waiting)
      await waiting.close()
      expect(await sending).to.deep.equal({ kind: 'try_later', reason: 'the gateway is closed' })
    })

    describe('Web Push through a proxy if private networks are not allowed', () => {
      proxyEnvironment()
      let tunnels: readonly string[]
      beforeEach(async () => {
        const proxy = index.closing(await startConnectProxy({ to: Number(new URL(service.url).port) }))
        tunnels = proxy.tunnels
        process.env.HTTPS_PROXY = `http://127.0.0.1:${proxy.port}`
      })

      for (const [name, addresses] of [
        ['sends through the proxy to a name that resolves to public addresses', ['8.8.8.8', '2001:4860:4860::8888']],
        ['sends through the proxy to a name that only the proxy can resolve', undefined],
      ] as const)
        it(name, async () => {
          if (addresses) dns.addresses.set(PUBLIC_NAME, [...addresses])
          expect(await sendTo(PUBLIC_NAME)).to.deep.equal(ACCEPTED)
          expect(tunnels).to.deep.equal([new URL(phone.endpoint).host])
        })

      // Shows: sidecar C14.8.
      it('opens no proxy tunnel to a private address, or to a name that resolves to one', async () => {
        dns.addresses.set(PUBLIC_NAME, ['10.0.0.1'])
        const outcome = await sendTo(PUBLIC_NAME)
        expect(outcome).to.include(REFUSED).with.property('reason').that.includes('push.webpush.allowPrivate')
        for (const host of ['127.0.0.1', '[fd00::1]', 'intranet', 'ntfy.local'])
          expect(await sendTo(host), host).to.include(REFUSED)
        expect(tunnels).to.deep.equal([])
      })
    })
  })
})
