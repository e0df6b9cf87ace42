import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import type { RequestDetails } from 'web-push'
import { type Clock, systemClock } from '../../clock.ts'
import type { WebPushSettings } from '../../config/settings.ts'
import type { VapidKeys } from '../../config/vapid-keys.ts'
import type { Log } from '../../log.ts'
import { clockAdvice, withClockAdvice } from '../gateway/clock-advice.ts'
import type { Notification, PushFailure, PushGateway, PushOutcome } from '../gateway/gateway.ts'
import { createInFlight, type InFlight, SEND_LIMIT_MS } from '../gateway/in-flight.ts'
import { fitNotification, MAX_NOTIFICATION_BYTES, NOTIFICATION_TTL_MS } from '../gateway/notification.ts'
import { parseRetryAfter } from '../gateway/retry-after.ts'
import { HostShares } from './host-shares.ts'
import { parseSubscription, type Subscription } from './subscription.ts'
import { AddressRefused, WebPushAgent } from './web-push-agent.ts'

// The logged reason when a push service refuses the VAPID signature. A retry helps if the cause is a wrong clock.
const SIGNATURE = "does not accept the sidecar's signature"

/**
 * Push outcomes by HTTP status. None is `unauthorized`, because that outcome would let a hostile push service alert the
 * operator. Source: RFC 8030, 5, 7.2 and 7.3; RFC 8292, 4.2.
 */
const OUTCOMES: Readonly<Record<number, readonly [PushFailure['kind'], string]>> = {
  401: ['try_later', SIGNATURE],
  403: ['try_later', SIGNATURE],
  404: ['token_gone', 'does not know the subscription'],
  408: ['try_later', 'did not receive the whole notification in time'],
  410: ['token_gone', 'says that the subscription has ended'],
  413: ['try_later', 'finds the notification too big'],
  429: ['try_later', 'received too many notifications'],
  507: ['phone_away', 'keeps no notifications for an offline phone'], // ntfy answers with this status
}

/** HTTP statuses with several meanings. The text of the push service's answer shows which one applies. */
const WORDY_STATUSES: ReadonlySet<number> = new Set([400, 401, 403])
const WORDS: readonly (readonly [RegExp, (typeof OUTCOMES)[number]])[] = [
  // Texts of FCM, Mozilla and Apple for a subscription that was made with another VAPID key.
  [
    /correspond to the credentials used|VAPID public key mismatch|VapidPkHashMismatch/i,
    ['token_gone', "says that the subscription was made with a VAPID key other than the sidecar's"],
  ],
  // The error code in an answer of ntfy. ntfy never checks signatures. Its 401 and 403 mean that access is denied.
  [
    /"code":\s*40[13]\d\d\b/,
    ['try_later', 'does not let the sidecar write: its access rules must let everyone write to up*'],
  ],
]

/** The outcome for a push token to which nothing can be sent. */
const NO_SUBSCRIPTION: PushOutcome = {
  kind: 'token_gone',
  reason:
    'the push token is not a Web Push subscription, or its push service is in a private network (push.webpush.allowPrivate)',
  unasked: true,
}

/** Bytes that encryption adds: a header of 86, and 17 of delimiter and tag. Source: RFC 8188, 2; RFC 8291, 4. */
const ENCRYPTION_BYTES = 86 + 17
const MAX_TEXT_BYTES = MAX_NOTIFICATION_BYTES - ENCRYPTION_BYTES
const MAX_TOPIC_CHARACTERS = 32
/** Limit of the bytes of an answer that are read. */
const MAX_ANSWER_BYTES = 16_384
/**
 * Time limit of a whole request, in milliseconds. The outcome may be known earlier, while the rest of the answer still
 * arrives.
 */
const REQUEST_LIMIT_MS = 2 * SEND_LIMIT_MS
const MAX_SHOWN_HOST = 100

/** The clock and the DNS servers. Tests replace them. */
export interface WebPushSurroundings {
  readonly clock?: Clock
  /** DNS servers as `address:port`. Default: the DNS servers of the machine. */
  readonly dnsServers?: readonly string[]
}

/** Opens the Web Push gateway. Throws if the CA file is unusable. */
export function openWebPush(
  settings: WebPushSettings,
  keys: VapidKeys,
  log: Log,
  { clock = systemClock, dnsServers }: WebPushSurroundings = {},
): PushGateway {
  const { subject, allowPrivate, caFile } = settings
  if (subject === null) throw new Error('push.webpush.subject is not set.')
  const trust = caFile === null ? {} : { ca: readFileSync(caFile, 'utf8') }
  const agent = new WebPushAgent({ allowPrivate, ...trust, ...(dnsServers && { dnsServers }) })
  const gateway = new WebPushGateway({ subject, allowPrivate, keys, agent, clock, log })
  log.info('push-gateway-on', 'Phones without FCM or APNs are notified by Web Push.', { subject, allowPrivate })
  return gateway
}

interface WebPushParts {
  readonly subject: string
  readonly allowPrivate: boolean
  readonly keys: VapidKeys
  readonly agent: WebPushAgent
  readonly clock: Clock
  readonly log: Log
}

/**
 * Sends each notification to the push service that its subscription names. Limits the notifications in flight to each
 * service.
 */
class WebPushGateway implements PushGateway {
  readonly #parts: WebPushParts
  readonly #inFlight: InFlight
  readonly #shares = new HostShares()
  // Loaded only if Web Push is on, to save memory and time.
  readonly #client = import('web-push')

  constructor(parts: WebPushParts) {
    this.#parts = parts
    this.#inFlight = createInFlight(parts.clock)
    // If `web-push` cannot be loaded, such as during an upgrade, this rejection ends the process, and its restart finds
    // the package.
    void this.#client.then()
  }

  send(pushToken: string, notification: Notification): Promise<PushOutcome> {
    const abandoned = new AbortController()
    const signal = AbortSignal.any([abandoned.signal, AbortSignal.timeout(REQUEST_LIMIT_MS)])
    return this.#inFlight.run(
      () => this.#send(pushToken, notification, signal),
      () => abandoned.abort(),
    )
  }

  async close(): Promise<void> {
    this.#inFlight.close()
    this.#parts.agent.destroy()
  }

  async #send(pushToken: string, notification: Notification, signal: AbortSignal): Promise<PushOutcome> {
    const parsed = parseSubscription(pushToken, this.#parts.allowPrivate)
    if ('problems' in parsed) return NO_SUBSCRIPTION
    const { endpoint } = parsed.subscription
    const { hostname } = new URL(endpoint)
    const afterMs = this.#shares.enter(hostname)
    if (afterMs !== undefined) return { kind: 'busy', reason: `${hostOf(endpoint)} is busy`, afterMs, unasked: true }
    try {
      return await this.#sendTo(parsed.subscription, notification, signal)
    } finally {
      this.#shares.leave(hostname)
    }
  }

  async #sendTo(subscription: Subscription, notification: Notification, signal: AbortSignal): Promise<PushOutcome> {
    const { subject, keys, agent, clock, log } = this.#parts
    const { default: webPush } = await this.#client
    const { endpoint } = subscription
    const payload = payloadOf(fitNotification(notification, measure, MAX_TEXT_BYTES))
    const details = webPush.generateRequestDetails(subscription, payload, {
      vapidDetails: { subject, ...keys },
      TTL: NOTIFICATION_TTL_MS / 1000,
      urgency: 'high',
      topic: topicOf(notification.collapseId, keys),
    })
    const outcome = await post(details, agent, signal).then(
      (answer) => outcomeOf(answer, endpoint, clock.now()),
      (error: unknown) => unansweredOutcome(error, endpoint),
    )
    if (outcome.kind !== 'accepted')
      log.debug('web-push-answer', 'A push service did not accept a notification.', {
        outcome: outcome.kind,
        reason: outcome.reason,
      })
    return outcome
  }
}

/** Builds the payload: a JSON object with `title`, `body` and the data members. */
function payloadOf({ title, body, data }: Notification): string {
  return JSON.stringify({ title, body, ...data })
}

function measure(notification: Notification): number {
  return Buffer.byteLength(payloadOf(notification))
}

/**
 * Returns the topic. A push service replaces an undelivered notification by a newer one of its topic. It is not
 * encrypted, so it must not reveal the station.
 */
function topicOf(collapseId: string, { privateKey }: VapidKeys): string {
  return createHmac('sha256', privateKey).update(collapseId).digest('base64url').slice(0, MAX_TOPIC_CHARACTERS)
}

/**
 * Sends the request. `web-push` itself reads answers of any length and cannot be aborted. Follows no redirect, which
 * could lead to a forbidden address.
 */
function post({ endpoint, method, headers, body }: RequestDetails, agent: WebPushAgent, signal: AbortSignal) {
  return new Promise<IncomingMessage>((resolve, reject) => {
    request(endpoint, { method, headers, agent, signal }, resolve).on('error', reject).end(body)
  })
}

async function outcomeOf(answer: IncomingMessage, endpoint: string, now: number): Promise<PushOutcome> {
  const { statusCode: status = 0, headers } = answer
  const text = readAnswer(answer)
  // A status 2xx alone shows success, so the rest of the answer is not awaited.
  if (status >= 200 && status < 300) return { kind: 'accepted' }
  const answerText = WORDY_STATUSES.has(status) ? await text : ''
  const byWords = WORDS.find(([words]) => words.test(answerText))?.[1]
  const [kind, complaint] = byWords ?? OUTCOMES[status] ?? ['try_later', otherStatus(status)]
  const remedy = complaint === SIGNATURE ? `: ${clockAdvice(headers.date, Date.now())}; check push.webpush.subject` : ''
  const reason = `${hostOf(endpoint)} ${complaint}${remedy} (status ${status})`
  const afterMs = parseRetryAfter(headers['retry-after'], now)
  return kind === 'try_later' && afterMs !== undefined ? { kind, reason, afterMs } : { kind, reason }
}

function otherStatus(status: number): string {
  if (status < 400) return 'answers with a redirect, which the sidecar does not follow'
  return status < 500 ? 'refuses the notification' : 'is not available'
}

function unansweredOutcome(error: unknown, endpoint: string): PushFailure {
  const host = hostOf(endpoint)
  if (error instanceof AddressRefused)
    return {
      kind: 'token_gone',
      reason: `${host} is in a private network, which push.webpush.allowPrivate does not allow`,
      unasked: true,
    }
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
  return { kind: 'try_later', reason: `${host} cannot be reached (${withClockAdvice(code, Date.now())})` }
}

/**
 * Reads an answer up to {@link MAX_ANSWER_BYTES}. A connection can be used for the next notification if its answer was
 * read to the end.
 */
async function readAnswer(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      size += chunk.length
      if (size > MAX_ANSWER_BYTES) break
    }
  } catch {
    // The push service's answer ended early, but its status is known.
  }
  return Buffer.concat(chunks).toString('latin1')
}

/** Returns the host of an endpoint, for logs. The rest of an endpoint is secret, like a push token. */
function hostOf(endpoint: string): string {
  return new URL(endpoint).host.slice(0, MAX_SHOWN_HOST)
}
