import type { Clock } from '../clock.ts'
import type { ListenSettings, RateLimitSettings } from '../config/settings.ts'
import type { Log } from '../log.ts'
import { createRateLimit } from '../messages/rate-limit.ts'
import type { StationKey, Store } from '../messages/store.ts'
import type { Metrics } from '../metrics.ts'
import { type Body, lastingBody } from './answers/answer.ts'
import { createAvatarCache } from './answers/avatar-cache.ts'
import { BytesInFlight } from './answers/bytes-in-flight.ts'
import { WriteDeadlines } from './answers/write-deadlines.ts'
import { avatarsEndpoint } from './endpoints/avatars.ts'
import type { Endpoint } from './endpoints/endpoint.ts'
import { registerEndpoint } from './endpoints/register.ts'
import { syncEndpoint } from './endpoints/sync.ts'
import { unregisterEndpoint } from './endpoints/unregister.ts'
import { createHandler } from './handler.ts'
import { type HttpListener, listenHttp } from './http-listener.ts'
import { createApiServer } from './http-server.ts'
import { openApiDocument } from './openapi/document.ts'
import { clientAddressBy, clientOfPeerBy, isProxyBy } from './requests/client-address.ts'
import { limitConnections } from './requests/connection-limit.ts'
import { OverLimit } from './requests/over-limit.ts'
import { createProxyWarnings } from './requests/proxy-warnings.ts'
import { createBodyChecks } from './requests/schemas.ts'
import { createRingCache } from './rings/create-ring-cache.ts'

/** The public API while it serves. */
export interface Api extends HttpListener {
  /**
   * Reads certificate and key again, for new connections. When they are no good the old ones stay, and the log says so.
   * Never rejects.
   */
  reloadTls(): Promise<void>
  /** When the certificate in use expires, in milliseconds since 1970; undefined without TLS. */
  certificateExpiresAt(): number | undefined
}

interface ApiParts {
  readonly listen: ListenSettings
  readonly rateLimit: RateLimitSettings
  /** `publicKey`: what apps subscribe with, base64url; absent while Web Push is off. */
  readonly webPush: { readonly allowPrivate: boolean; readonly publicKey?: string }
  readonly store: Store
  /** Whether a call is nobody's to register. */
  readonly isReserved: (key: StationKey) => boolean
  readonly clock: Clock
  readonly metrics: Metrics
  readonly log: Log
}

/**
 * Says where the API can be reached from other machines, and nothing keeps what it is told from being read on the way.
 */
export function warnWithoutTls(
  { certFile, trustProxy }: Pick<ListenSettings, 'certFile' | 'trustProxy'>,
  loopback: boolean,
  log: Pick<Log, 'warn'>,
): void {
  if (certFile === null && !loopback && trustProxy === false)
    log.warn(
      'api-without-tls',
      'The API can be reached from other machines without TLS: set listen.certFile and listen.keyFile, or listen.trustProxy when a proxy adds it.',
    )
}

/** Bytes of answers that are made or not read yet. A call for 50 of the largest avatars brings 1.2 MB. */
const IN_FLIGHT = { inAll: 32_000_000, perClient: 8_000_000 }

/** Serves the four calls of the API; rejects when it cannot listen, or its certificate is no good. */
export async function serveApi(parts: ApiParts): Promise<Api> {
  const { listen, rateLimit, webPush, store, isReserved, clock, metrics, log } = parts
  const check = createBodyChecks(webPush)
  const rings = createRingCache(store)
  const limit = createRateLimit(rateLimit)
  const inFlight = new BytesInFlight(IN_FLIGHT)
  const overLimits = new OverLimit(clock, metrics, log)
  const calls: ReadonlyMap<string, Endpoint> = new Map([
    ['/v1/register', registerEndpoint({ check: check.register, store, isReserved, rings, metrics, log })],
    ['/v1/sync', syncEndpoint({ check: check.sync, rings, stations: store.stations })],
    [
      '/v1/avatars',
      avatarsEndpoint({
        check: check.avatars,
        store,
        avatars: createAvatarCache(store.stations),
        inFlight,
        countRequests: (client, count) => limit.take(client, clock.elapsed(), count),
      }),
    ],
    ['/v1/unregister', unregisterEndpoint({ check: check.unregister, store, metrics, log })],
  ])
  const { publicKey } = webPush
  const documents = new Map<string, Body>([['/v1/openapi.json', lastingBody(openApiDocument())]])
  if (publicKey !== undefined) documents.set('/v1/webpush', lastingBody({ publicKey }))
  const clientOf = clientAddressBy(listen.trustProxy)
  const isProxy = isProxyBy(listen.trustProxy)
  const warnOfProxy = createProxyWarnings(isProxy, log)
  const handler = createHandler({
    calls,
    documents,
    clientOf,
    limit,
    inFlight,
    deadlines: new WriteDeadlines(clock),
    overLimits,
    isProxy,
    warnOfProxy,
    clock,
    metrics,
    log,
  })

  const { server, scheme, reloadCertificate, certificateExpiresAt } = await createApiServer(listen)
  limitConnections(server, rateLimit.connectionsPerAddress, clientOfPeerBy(listen.trustProxy), (client) => {
    if (client === undefined) metrics.count('api_connections_dropped')
    else overLimits.refuse(client, 'connections')
  })
  server.on('request', handler.request)
  // Otherwise Node sends its "100 Continue" before the rate limit is asked, and refuses other expectations without a
  // body.
  server.on('checkContinue', handler.request)
  server.on('checkExpectation', handler.request)
  server.on('clientError', handler.unreadable)
  const listener = await listenHttp(server, scheme, listen.host, listen.port)
  warnWithoutTls(listen, listener.loopback, log)
  return {
    url: listener.url,
    loopback: listener.loopback,
    async close() {
      await listener.close()
      // Connections are cut after a moment; the registration of a phone that was cut off is still stored.
      await handler.allDone()
    },
    certificateExpiresAt,
    async reloadTls() {
      if (scheme === 'http') return
      try {
        await reloadCertificate()
        log.info('tls-reloaded', 'New connections get the certificate that is in the file now.')
      } catch (error) {
        log.error('tls-not-reloaded', 'The certificate could not be read; the old one stays in use.', { error })
      }
    },
  }
}
