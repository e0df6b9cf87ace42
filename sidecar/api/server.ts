import type { Server } from 'node:http'
import type { Clock } from '../clock.ts'
import type { ListenSettings, RateLimitSettings } from '../config/settings.ts'
import type { Log } from '../log.ts'
import { createRateLimit, type RateLimit } from '../messages/rate-limit.ts'
import type { StationKey, Store } from '../messages/store.ts'
import type { Metrics } from '../metrics.ts'
import { AnswerQueue } from './answer-queue.ts'
import { type Body, lastingBody } from './answers/answer.ts'
import { AvatarCache } from './answers/avatar-cache.ts'
import { BytesInFlight } from './answers/bytes-in-flight.ts'
import { WriteDeadlines } from './answers/write-deadlines.ts'
import { avatarsEndpoint } from './endpoints/avatars.ts'
import type { Endpoint } from './endpoints/endpoint.ts'
import { registerEndpoint } from './endpoints/register.ts'
import { syncEndpoint } from './endpoints/sync.ts'
import { unregisterEndpoint } from './endpoints/unregister.ts'
import { RequestHandler } from './handler.ts'
import { type HttpListener, listenHttp } from './http-listener.ts'
import { type ApiServer, createApiServer } from './http-server.ts'
import { openApiDocument } from './openapi/document.ts'
import { clientAddressBy, clientOfPeerBy, isProxyBy } from './requests/client-address.ts'
import { limitConnections } from './requests/connection-limit.ts'
import { OverLimit } from './requests/over-limit.ts'
import { createProxyWarnings } from './requests/proxy-warnings.ts'
import { createBodyChecks } from './requests/schemas.ts'
import { createRingCache } from './rings/create-ring-cache.ts'

/** The public API while it is listening. */
export interface Api extends HttpListener {
  /**
   * Reads certificate and key again, for new connections. If they are unusable, logs an error and continues to use the
   * old ones. Never rejects.
   */
  reloadTls(): Promise<void>
  /** Returns the time at which the current certificate expires, in milliseconds since 1970; undefined without TLS. */
  certificateExpiresAt(): number | undefined
}

interface ApiParts {
  readonly listen: ListenSettings
  readonly rateLimit: RateLimitSettings
  /** `publicKey`: the public key that apps need to subscribe, in base64url; absent while Web Push is off. */
  readonly webPush: { readonly allowPrivate: boolean; readonly publicKey?: string }
  readonly store: Store
  /** Returns whether a callsign is reserved. No station can register a reserved callsign. */
  readonly isReserved: (key: StationKey) => boolean
  readonly clock: Clock
  readonly metrics: Metrics
  readonly log: Log
}

/** Warns if other machines can reach the API although neither TLS nor a proxy protects the connection. */
export function warnWithoutTls(
  { certFile, trustProxy }: Pick<ListenSettings, 'certFile' | 'trustProxy'>,
  loopback: boolean,
  log: Pick<Log, 'warn'>,
): void {
  if (certFile === null && !loopback && trustProxy === false)
    log.warn(
      'api-without-tls',
      'Other machines can reach the API without TLS. Set listen.certFile and listen.keyFile, or listen.trustProxy if a proxy adds TLS.',
    )
}

/**
 * Limits in bytes for answers that are being built or that clients have not read yet. An answer with 50 avatars of the
 * largest size takes 1.2 MB.
 */
const IN_FLIGHT = { inAll: 32_000_000, perClient: 8_000_000 }

/** Serves the API. Rejects if the server cannot listen or its certificate is unusable. */
export async function serveApi(parts: ApiParts): Promise<Api> {
  const { listen, rateLimit, webPush, clock, metrics, log } = parts
  const limit = createRateLimit(rateLimit)
  const inFlight = new BytesInFlight(IN_FLIGHT)
  const overLimits = new OverLimit(clock, metrics, log)
  const isProxy = isProxyBy(listen.trustProxy)
  const handler = new RequestHandler({
    endpoints: endpointsOf(parts, limit, inFlight),
    documents: documentsOf(webPush.publicKey),
    clientOf: clientAddressBy(listen.trustProxy),
    limit,
    answers: new AnswerQueue({ inFlight, deadlines: new WriteDeadlines(clock), overLimits }),
    overLimits,
    isProxy,
    warnOfProxy: createProxyWarnings(isProxy, log),
    clock,
    metrics,
    log,
  })

  const apiServer = await createApiServer(listen)
  const { server, scheme, certificateExpiresAt } = apiServer
  limitConnections(server, rateLimit.connectionsPerAddress, clientOfPeerBy(listen.trustProxy), (client) => {
    if (client === undefined) metrics.count('api_connections_dropped')
    else overLimits.refuse(client, 'connections')
  })
  handleWith(handler, server)
  const { url, loopback, close } = await listenHttp(server, scheme, listen.host, listen.port)
  warnWithoutTls(listen, loopback, log)
  return {
    url,
    loopback,
    async close() {
      await close()
      // A registration from a cut connection may still be writing to the store.
      await handler.allDone()
    },
    certificateExpiresAt,
    reloadTls: () => reloadTls(apiServer, log),
  }
}

function endpointsOf(
  { webPush, store, isReserved, clock, metrics, log }: ApiParts,
  limit: RateLimit,
  inFlight: BytesInFlight,
): ReadonlyMap<string, Endpoint> {
  const check = createBodyChecks(webPush)
  const rings = createRingCache(store, undefined, log)
  const avatars = new AvatarCache(store.stations)
  const countRequests = (client: string, count: number) => limit.take(client, clock.elapsed(), count)
  return new Map([
    ['/v1/register', registerEndpoint({ check: check.register, store, isReserved, rings, metrics, log })],
    ['/v1/sync', syncEndpoint({ check: check.sync, rings, stations: store.stations })],
    ['/v1/avatars', avatarsEndpoint({ check: check.avatars, store, avatars, inFlight, countRequests })],
    ['/v1/unregister', unregisterEndpoint({ check: check.unregister, store, metrics, log })],
  ])
}

function documentsOf(webPushKey: string | undefined): ReadonlyMap<string, Body> {
  const documents = new Map([['/v1/openapi.json', lastingBody(openApiDocument())]])
  if (webPushKey !== undefined) documents.set('/v1/webpush', lastingBody({ publicKey: webPushKey }))
  return documents
}

function handleWith(handler: RequestHandler, server: Server): void {
  server.on('request', (request, response) => handler.handle(request, response))
  // Without these listeners, Node.js would send "100 Continue" before the rate limit is checked, and refuse other
  // values of `Expect` without a body.
  server.on('checkContinue', (request, response) => handler.handle(request, response))
  server.on('checkExpectation', (request, response) => handler.handle(request, response))
  server.on('clientError', (fault, socket) => handler.handleUnreadable(fault, socket))
}

async function reloadTls({ scheme, reloadCertificate }: ApiServer, log: Log): Promise<void> {
  if (scheme === 'http') return
  try {
    await reloadCertificate()
    log.info('tls-reloaded', 'New connections use the certificate that is in the file now.')
  } catch (error) {
    log.error(
      'tls-not-reloaded',
      'Could not read the new certificate; the old one stays in use. Check listen.certFile and listen.keyFile.',
      { error },
    )
  }
}
