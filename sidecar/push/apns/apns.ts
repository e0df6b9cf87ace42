import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import type { ProviderOptions } from 'node-apn'
import { type Clock, systemClock } from '../../clock.ts'
import { parseSigningKey } from '../../config/push-keys.ts'
import type { ApnsSettings } from '../../config/settings.ts'
import type { Log } from '../../log.ts'
import { clockAdvice, withClockAdvice } from '../gateway/clock-advice.ts'
import type { Notification, PushFailure, PushGateway, PushOutcome } from '../gateway/gateway.ts'
import { createInFlight, SEND_LIMIT_MS } from '../gateway/in-flight.ts'
import { fitNotification, NOTIFICATION_TTL_MS, TRIAL } from '../gateway/notification.ts'
import { throughProxy } from '../gateway/tunnel.ts'
import { waitForLastAnswers } from './apns-farewell.ts'

type Given = Readonly<Record<'keyFile' | 'keyId' | 'teamId' | 'topic', string>>

// The text for one reason with two names: APNs sends `BadEnvironmentKeyInToken`, but its documentation says
// `BadEnvironmentKeyIdInToken`.
const OTHER_ENVIRONMENT = 'the signing key is for the other APNs environment (check push.apns.production)'

/**
 * The outcome for each reason that APNs returns. Source:
 * https://developer.apple.com/documentation/usernotifications/handling-notification-responses-from-apns
 */
const OUTCOMES: Readonly<Record<string, readonly [PushFailure['kind'], string]>> = {
  Unregistered: ['token_gone', 'the app was removed'],
  ExpiredToken: ['token_gone', 'the device token has expired'],
  BadDeviceToken: [
    'token_gone',
    'not a device token, or one for the other APNs environment (check push.apns.production)',
  ],
  DeviceTokenNotForTopic: ['token_gone', 'the token belongs to another app than push.apns.topic says'],
  MissingDeviceToken: ['token_gone', 'the request had no device token'],
  TooManyRequests: ['try_later', 'too many notifications to this phone'],
  TooManyProviderTokenUpdates: ['try_later', 'the signing key was used for too many tokens'],
  InternalServerError: ['try_later', 'internal error of APNs'],
  ServiceUnavailable: ['try_later', 'APNs is not available'],
  Shutdown: ['try_later', 'the APNs server is shutting down'],
  IdleTimeout: ['try_later', 'APNs closed an idle connection'],
  ExpiredProviderToken: ['unauthorized', 'APNs says that a new provider token has already expired'],
  InvalidProviderToken: [
    'unauthorized',
    'push.apns.keyFile, keyId and teamId may not belong together, or the key was revoked',
  ],
  MissingProviderToken: ['unauthorized', 'the request had no provider token'],
  BadTopic: ['unauthorized', 'push.apns.topic is not a bundle id'],
  MissingTopic: ['unauthorized', 'push.apns.topic is missing'],
  TopicDisallowed: ['unauthorized', 'the signing key may not send to push.apns.topic'],
  BadEnvironmentKeyInToken: ['unauthorized', OTHER_ENVIRONMENT],
  BadEnvironmentKeyIdInToken: ['unauthorized', OTHER_ENVIRONMENT],
  PayloadTooLarge: ['refused', 'the payload is too big for APNs'],
}

/**
 * Reasons of APNs that a wrong clock of this machine can cause. APNs sends no `Date` header, so the clocks cannot be
 * compared.
 */
const BY_CLOCK: ReadonlySet<string> = new Set(['ExpiredProviderToken', 'InvalidProviderToken'])

/** The outcome for a string that cannot be a device token. */
const NO_TOKEN: PushOutcome = { kind: 'token_gone', reason: 'the push token is not a device token', unasked: true }

/** A device token that no phone has. */
const UNKNOWN_TOKEN = '0'.repeat(64)

const PRODUCTION = 'api.push.apple.com'
const SANDBOX = 'api.sandbox.push.apple.com'

/** Returns the server that the APNs gateway connects to, as `host:port`. */
export function apnsServer(settings: ApnsSettings): string {
  return `${hostOf(settings)}:${settings.port ?? 443}`
}

function hostOf({ address, production }: ApnsSettings): string {
  return address ?? (production ? PRODUCTION : SANDBOX)
}

/** Opens the APNs gateway. Throws if a file has disappeared since the configuration was read; the message names it. */
export function openApns(settings: ApnsSettings, log: Log, clock: Clock = systemClock): PushGateway {
  const { keyFile, keyId, teamId, topic } = settings as ApnsSettings & Given
  const key = parseSigningKey(readFileSync(keyFile, 'utf8'))
  const connections = createConnections(settings)
  const inFlight = createInFlight(clock)
  const client = openClient({ key, keyId, teamId }, settings.production, connections)
  // If `node-apn` cannot be loaded, such as during an upgrade, this rejection ends the process, and its restart finds
  // the package.
  void client.then()
  log.info('push-gateway-on', 'iPhones are notified by APNs.', { topic, host: connections.host })

  const send = async (pushToken: string, notification: Notification): Promise<PushOutcome> => {
    // The token becomes part of a request path, so a string with other characters could request something else from
    // APNs.
    if (!/^[0-9a-f]{1,200}$/i.test(pushToken)) return NO_TOKEN
    const { provider, Message } = await client
    const fitted = fitNotification(notification, measure)
    const message = new Message()
    message.topic = topic
    message.pushType = 'alert'
    message.priority = 10
    message.expiry = Math.floor((clock.now() + NOTIFICATION_TTL_MS) / 1000)
    message.collapseId = fitted.collapseId
    message.rawPayload = payloadOf(fitted)
    const attempt = async (): Promise<Failure | undefined> => {
      const { sent, failed } = await provider.send(message, pushToken)
      return sent.length > 0 ? undefined : readFailure(failed[0], connections.problem())
    }
    let failure = await attempt()
    // The client has replaced the expired provider token by now, so a second try can succeed.
    if (failure?.reason === 'ExpiredProviderToken') failure = await attempt()
    if (!failure) return { kind: 'accepted' }
    const outcome = outcomeOf(failure)
    log.debug('apns-answer', 'APNs did not accept a notification.', { outcome: outcome.kind, reason: outcome.reason })
    return outcome
  }

  let closing: Promise<void> | undefined
  const close = async () => {
    inFlight.close()
    await client.then(({ provider }) => provider.shutdown()).catch(() => {})
    await connections.close()
  }
  const sendInTime = (pushToken: string, notification: Notification): Promise<PushOutcome> => {
    const silent = connections.watch()
    return inFlight.run(
      () => send(pushToken, notification),
      () => silent.drop(),
    )
  }
  return {
    send: sendInTime,
    verify: () => sendInTime(UNKNOWN_TOKEN, TRIAL),
    close() {
      closing ??= close()
      return closing
    },
  }
}

async function openClient(
  token: { readonly key: string; readonly keyId: string; readonly teamId: string },
  production: boolean,
  connections: ReturnType<typeof createConnections>,
) {
  // Loaded only if APNs is configured, to save memory and time.
  const { Notification: Message, Provider } = await import('node-apn')
  const options: ProviderOptions & { createConnection: () => TLSSocket } = {
    token,
    address: connections.host,
    production,
    // No retries by the client: it would retry within milliseconds, and ignore the gateway's Retry-After.
    connectionRetryLimit: 0,
    requestTimeout: SEND_LIMIT_MS,
    createConnection: connections.open,
  }
  const provider = new Provider(options)
  waitForLastAnswers(provider)
  return { provider, Message }
}

/** Builds the JSON payload. The data keys stand beside the key `aps`. */
function payloadOf({ title, body, collapseId, data }: Notification) {
  const alert = { title, body }
  // `mutable-content` lets an extension of the app add the sender's avatar before the phone shows the notification.
  return { ...data, aps: { alert, sound: 'default', 'thread-id': collapseId, 'mutable-content': 1 } }
}

function measure(notification: Notification): number {
  return Buffer.byteLength(JSON.stringify(payloadOf(notification)))
}

interface Failure {
  /** The HTTP status; absent if the request got no answer. */
  readonly status?: number
  readonly reason: string
}

function outcomeOf({ status, reason }: Failure): PushFailure {
  const documented = Object.hasOwn(OUTCOMES, reason) ? OUTCOMES[reason] : undefined
  if (documented) {
    const clock = BY_CLOCK.has(reason) ? `${clockAdvice(undefined, Date.now())}; ` : ''
    return { kind: documented[0], reason: `${reason}: ${clock}${documented[1]}` }
  }
  if (status === undefined) return { kind: 'try_later', reason }
  return { kind: kindOf(status), reason: `${reason} (status ${status})` }
}

function kindOf(status: number): PushFailure['kind'] {
  if (status >= 500 || status === 429) return 'try_later'
  return status === 403 ? 'unauthorized' : 'refused'
}

/**
 * Reads status and reason from a failure reported by `node-apn`. Depending on the status, the reason is in one of two
 * members, or absent.
 */
function readFailure(failed: unknown, connectionProblem: string | undefined): Failure {
  const { status, response, error } = members(failed)
  const { reason } = members(response)
  const word = typeof reason === 'string' ? reason : error instanceof Error ? error.message : ''
  if (typeof status !== 'number') {
    return {
      reason: `the connection to APNs was lost${connectionProblem ? ` (${withClockAdvice(connectionProblem, Date.now())})` : ''}`,
    }
  }
  if (status === 500) return { status, reason: 'InternalServerError' }
  // A reason from APNs is one of the words in Apple's documentation. A server that is configured instead of APNs could
  // send any text.
  return { status, reason: /^[A-Za-z]{1,64}$/.test(word) ? word : 'unknown reason' }
}

function members(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

/**
 * Opens TLS sockets for the client. `watch` can drop those that APNs no longer answers. The client would use them for
 * minutes.
 */
function createConnections(settings: ApnsSettings) {
  const { port, caFile } = settings
  const host = hostOf(settings)
  const ca = caFile === null ? undefined : readFileSync(caFile, 'utf8')
  const sockets = new Set<TLSSocket>()
  let problem: string | undefined
  let closed = false
  return {
    host,
    /** Returns the error code that ended the last connection; undefined while a connection is up. */
    problem: () => problem,
    open(): TLSSocket {
      const socket = connectTls({
        host,
        port: port ?? 443,
        ALPNProtocols: ['h2'],
        rejectUnauthorized: true,
        // An IP address is not allowed as a TLS server name (RFC 6066). The certificate must still be valid for the
        // address.
        ...(isIP(host) === 0 && { servername: host }),
        ...(ca !== undefined && { ca }),
        ...throughProxy(host, port ?? 443),
      })
      sockets.add(socket)
      socket.once('secureConnect', () => {
        problem = undefined
      })
      socket.once('error', (error: NodeJS.ErrnoException) => {
        problem = error.code
      })
      socket.once('close', () => sockets.delete(socket))
      if (closed) socket.destroy()
      return socket
    },
    /** Starts to watch the connections. `drop` ends each connection that has received nothing since this call. */
    watch() {
      const bytesReadBefore = new Map(Array.from(sockets, (socket) => [socket, socket.bytesRead]))
      return {
        drop() {
          for (const socket of sockets) if (socket.bytesRead === (bytesReadBefore.get(socket) ?? 0)) socket.destroy()
        },
      }
    },
    async close() {
      closed = true
      await Promise.all(
        Array.from(sockets, (socket) => new Promise((resolve) => socket.once('close', resolve).destroy())),
      )
    },
  }
}
