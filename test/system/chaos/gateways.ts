import { type ApnsFixture, startApns } from '../../../fixtures/push/apns.ts'
import { type FcmFixture, startFcm } from '../../../fixtures/push/fcm.ts'
import { startWebPush, type WebPushFixture } from '../../../fixtures/push/webpush.ts'
import { startTcpRelay, type TcpRelay } from '../../support/tcp-relay.ts'
import type { Gateway, GatewayAct } from './plan.ts'
import type { Pushes } from './pushes.ts'

type Lines = Readonly<Record<Gateway, TcpRelay>>

interface Services {
  readonly fcm: FcmFixture
  readonly apns: ApnsFixture
  readonly webpush: WebPushFixture
}

/** The push gateways, each behind a line that can be cut. */
export class Gateways {
  readonly #services: Services
  readonly #lines: Lines

  static async start(pushes: Pushes): Promise<Gateways> {
    const fcm = await startFcm({
      onReceived: ({ token, data, notification }) => pushes.take(token, data, notification?.body),
    })
    const apns = await startApns({
      onReceived: ({ deviceToken, payload: { aps, ...data } }) =>
        pushes.take(deviceToken, data, (aps.alert as { body?: unknown }).body),
    })
    const webpush = await startWebPush({
      onReceived: ({ endpoint, payload: { body, ...data } }) => pushes.take(endpoint, data, body),
    })
    const lines = {
      fcm: await startTcpRelay(Number(new URL(fcm.url).port)),
      apns: await startTcpRelay(apns.port),
      webpush: await startTcpRelay(Number(new URL(webpush.url).port)),
    }
    webpush.moveTo(addressOf(lines.webpush))
    return new Gateways({ fcm, apns, webpush }, lines)
  }

  private constructor(services: Services, lines: Lines) {
    this.#services = services
    this.#lines = lines
  }

  /** The `push` section of the sidecar's configuration. It connects to the push gateways through the relays. */
  get settings() {
    const { fcm, apns, webpush } = this.#services
    return {
      fcm: { ...fcm.settings, endpoint: addressOf(this.#lines.fcm) },
      apns: { ...apns.settings, port: this.#lines.apns.port },
      webpush: webpush.settings,
    }
  }

  /** Creates a phone's Web Push subscription, restricted to the server with this public key. */
  readonly subscribe = (publicKey: string): string => JSON.stringify(this.#services.webpush.subscribe(publicKey))

  /** Begins a fault of a push gateway. {@link recover} ends it. */
  async fail(gateway: Gateway, { kind, times }: GatewayAct): Promise<void> {
    if (kind === 'cut') await this.#lines[gateway].cut()
    else if (gateway === 'fcm') this.#failFcm(kind, times)
    else if (gateway === 'apns') this.#failApns(kind, times)
    else this.#failWebPush(kind, times)
  }

  #failFcm(kind: Exclude<GatewayAct['kind'], 'cut'>, times: number): void {
    const { fcm } = this.#services
    if (kind === 'errors') fcm.fail({ errorCode: 'UNAVAILABLE', retryAfterSeconds: 1 }, times)
    else if (kind === 'hang') fcm.fail('hang', times)
    else if (kind === 'lost') fcm.fail('reset', times)
    else {
      fcm.revokeAccessTokens()
      fcm.failTokenEndpoint({ status: 503, error: 'unavailable' })
    }
  }

  #failApns(kind: Exclude<GatewayAct['kind'], 'cut'>, times: number): void {
    const { apns } = this.#services
    if (kind === 'errors') apns.fail({ status: 503, reason: 'ServiceUnavailable', retryAfterSeconds: 1 }, times)
    else if (kind === 'hang') apns.fail('hang', times)
    else if (kind === 'lost') apns.fail('drop', times)
    else apns.fail('goaway', times)
  }

  #failWebPush(kind: Exclude<GatewayAct['kind'], 'cut'>, times: number): void {
    const { webpush } = this.#services
    if (kind === 'errors') webpush.fail({ status: 503, headers: { 'retry-after': '1' } }, times)
    else if (kind === 'hang') webpush.fail('hang', times)
    else if (kind === 'lost') webpush.fail('reset', times)
    else webpush.fail({ status: 403, text: 'The signature has expired.' }, times)
  }

  async recover(gateway: Gateway): Promise<void> {
    await this.#lines[gateway].mend()
    this.#services[gateway].recover()
    if (gateway === 'fcm') this.#services.fcm.failTokenEndpoint()
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#lines).map((line) => line.close()))
    await Promise.all(Object.values(this.#services).map((service) => service.close()))
  }
}

function addressOf({ port }: TcpRelay): string {
  return `https://127.0.0.1:${port}`
}
