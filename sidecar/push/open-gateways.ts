import { type Clock, systemClock } from '../clock.ts'
import type { PushSettings } from '../config/settings.ts'
import type { VapidKeys } from '../config/vapid-keys.ts'
import type { Log } from '../log.ts'
import type { Platform } from '../messages/store.ts'
import { openApns } from './apns/apns.ts'
import { openFcm } from './fcm/fcm.ts'
import type { PushGateway } from './gateway/gateway.ts'
import { openWebPush } from './web-push/web-push.ts'

/**
 * Opens the configured push gateways. Phones without a gateway can still sync, but get no notifications. Throws if a
 * configured gateway cannot be opened.
 */
export function openGateways(
  { fcm, apns, webpush }: PushSettings,
  log: Log,
  clock: Clock = systemClock,
  vapidKeys?: VapidKeys,
): Partial<Record<Platform, PushGateway>> {
  const gateways: Partial<Record<Platform, PushGateway>> = {}
  try {
    if (fcm.serviceAccountFile !== null) gateways.android = openFcm(fcm, log, clock)
    else
      warnOff(log, 'android', 'Android phones get no notifications. To notify them, set push.fcm.serviceAccountFile.')
    if (apns.keyFile !== null) gateways.ios = openApns(apns, log, clock)
    else warnOff(log, 'ios', 'iPhones get no notifications. To notify them, set push.apns.keyFile.')
    if (vapidKeys) gateways.webpush = openWebPush(webpush, vapidKeys, log, { clock })
    else
      warnOff(
        log,
        'webpush',
        'Phones without FCM or APNs get no notifications. To notify them, set push.webpush.subject.',
      )
    return gateways
  } catch (error) {
    for (const gateway of Object.values(gateways)) void gateway.close()
    throw error
  }
}

function warnOff(log: Log, platform: Platform, msg: string): void {
  log.warn('push-gateway-off', msg, { platform })
}
