import { type ApnsFixture, startApns } from '../../../fixtures/push/apns.ts'
import { type FcmFixture, startFcm } from '../../../fixtures/push/fcm.ts'
import { startWebPush, type WebPushFixture } from '../../../fixtures/push/webpush.ts'
import type { Clock } from '../../../sidecar/clock.ts'
import { makeVapidKeys } from '../../../sidecar/config/vapid-keys.ts'
import type { Log } from '../../../sidecar/log.ts'
import { openApns } from '../../../sidecar/push/apns/apns.ts'
import { openFcm } from '../../../sidecar/push/fcm/fcm.ts'
import type { Notification, PushGateway } from '../../../sidecar/push/gateway/gateway.ts'
import { openWebPush } from '../../../sidecar/push/web-push/web-push.ts'

export const NOTIFICATION: Notification = {
  title: 'W1AW',
  body: 'Hello',
  collapseId: 'aprs-N0CALL-7',
  data: { fromCall: 'W1AW', seqId: '1', to: 'N0CALL-7', count: '1', collapseId: 'aprs-N0CALL-7' },
}
/** A notification whose body and picture are too big for every gateway. */
export const BIG: Notification = {
  ...NOTIFICATION,
  body: 'x'.repeat(9000),
  data: { ...NOTIFICATION.data, fromAvatarImage: 'A'.repeat(3000) },
}

export const DEVICE_TOKEN = 'aB'.repeat(32)
export const VAPID = makeVapidKeys()

/** A push service, the token of a phone that it knows, and a function that opens our gateway to the service. */
export interface Subject<Service> {
  readonly service: Service
  readonly token: string
  /** `changes` replaces settings of the gateway. */
  open(log: Log, clock: Clock, changes?: object): PushGateway
  /** Returns changes of the settings, or a token, that direct the gateway to another port of this machine. */
  elsewhere(port: number): { readonly changes?: object; readonly token?: string }
}

export async function apnsSubject(): Promise<Subject<ApnsFixture>> {
  const service = await startApns()
  return {
    service,
    token: DEVICE_TOKEN,
    open: (log, clock, changes) => openApns({ ...service.settings, ...changes }, log, clock),
    elsewhere: (port) => ({ changes: { port } }),
  }
}

export async function fcmSubject(): Promise<Subject<FcmFixture>> {
  const service = await startFcm()
  return {
    service,
    token: 'registration-token:1234567890',
    open: (log, clock, changes) => openFcm({ ...service.settings, ...changes }, log, clock),
    elsewhere: (port) => ({ changes: { endpoint: `https://127.0.0.1:${port}` } }),
  }
}

export async function webPushSubject(): Promise<Subject<WebPushFixture>> {
  const service = await startWebPush()
  const phone = service.subscribe(VAPID.publicKey)
  const settings = { ...service.settings, keyFile: null }
  return {
    service,
    token: JSON.stringify(phone),
    open: (log, clock, changes) => openWebPush({ ...settings, ...changes }, VAPID, log, { clock }),
    elsewhere: (port) => ({ token: JSON.stringify({ ...phone, endpoint: `https://127.0.0.1:${port}/x` }) }),
  }
}
