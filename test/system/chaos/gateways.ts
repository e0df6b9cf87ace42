import { type ApnsFixture, startApns } from '../../../fixtures/push/apns.ts'
import { type FcmFixture, startFcm } from '../../../fixtures/push/fcm.ts'
import { startTcpRelay, type TcpRelay } from '../../support/tcp-relay.ts'
import type { GatewayAct } from './plan.ts'
import type { Pushes } from './pushes.ts'

type Lines = Readonly<Record<GatewayAct['gateway'], TcpRelay>>

/** Both push gateways, each behind a line that can be cut. */
export class Gateways {
  readonly #fcm: FcmFixture
  readonly #apns: ApnsFixture
  readonly #lines: Lines

  static async start(pushes: Pushes): Promise<Gateways> {
    const fcm = await startFcm({ onReceived: ({ data, notification }) => pushes.take(data, notification?.body) })
    const apns = await startApns({
      onReceived: ({ payload: { aps, ...data } }) => pushes.take(data, (aps.alert as { body?: unknown }).body),
    })
    const lines = {
      fcm: await startTcpRelay(Number(new URL(fcm.url).port)),
      apns: await startTcpRelay(apns.port),
    }
    return new Gateways(fcm, apns, lines)
  }

  private constructor(fcm: FcmFixture, apns: ApnsFixture, lines: Lines) {
    this.#fcm = fcm
    this.#apns = apns
    this.#lines = lines
  }

  /** `push.fcm` and `push.apns` of a configuration that goes by the lines. */
  get settings() {
    return {
      fcm: { ...this.#fcm.settings, endpoint: `https://127.0.0.1:${this.#lines.fcm.port}` },
      apns: { ...this.#apns.settings, port: this.#lines.apns.port },
    }
  }

  /** Begins what is over with {@link recover}. */
  async fail({ gateway, kind, times }: GatewayAct): Promise<void> {
    const [fcm, apns] = [this.#fcm, this.#apns]
    if (kind === 'cut') await this.#lines[gateway].cut()
    else if (gateway === 'fcm') {
      if (kind === 'errors') fcm.fail({ errorCode: 'UNAVAILABLE', retryAfterSeconds: 1 }, times)
      else if (kind === 'hang') fcm.fail('hang', times)
      else if (kind === 'lost') fcm.fail('reset', times)
      else {
        fcm.revokeAccessTokens()
        fcm.failTokenEndpoint({ status: 503, error: 'unavailable' })
      }
    } else if (kind === 'errors') apns.fail({ status: 503, reason: 'ServiceUnavailable', retryAfterSeconds: 1 }, times)
    else if (kind === 'hang') apns.fail('hang', times)
    else if (kind === 'lost') apns.fail('drop', times)
    else apns.fail('goaway', times)
  }

  async recover(gateway: GatewayAct['gateway']): Promise<void> {
    await this.#lines[gateway].mend()
    this.#fcm.failTokenEndpoint()
    if (gateway === 'fcm') this.#fcm.recover()
    else this.#apns.recover()
  }

  async close(): Promise<void> {
    await Promise.all([this.#lines.fcm.close(), this.#lines.apns.close()])
    await Promise.all([this.#fcm.close(), this.#apns.close()])
  }
}
