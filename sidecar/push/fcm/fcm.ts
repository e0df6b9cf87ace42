import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Message } from 'firebase-admin/messaging'
import { type Clock, systemClock } from '../../clock.ts'
import { parseServiceAccount, type ServiceAccount } from '../../config/push-keys.ts'
import type { FcmSettings } from '../../config/settings.ts'
import type { Log } from '../../log.ts'
import { clockAdvice, withClockAdvice } from '../gateway/clock-advice.ts'
import type { Notification, PushFailure, PushGateway, PushOutcome } from '../gateway/gateway.ts'
import { createInFlight, type InFlight } from '../gateway/in-flight.ts'
import { fitNotification, NOTIFICATION_TTL_MS, TRIAL } from '../gateway/notification.ts'
import { FcmAgent, FcmExchange, SEND_HOST } from './fcm-agent.ts'

/** Outcomes and log texts by error code of `firebase-admin`. Its own messages may quote FCM's whole answer. */
const OUTCOMES: Readonly<Record<string, readonly [PushFailure['kind'], string]>> = {
  'messaging/registration-token-not-registered': ['token_gone', 'the app was removed or got another token'],
  'messaging/invalid-registration-token': ['token_gone', 'FCM did not issue this token'],
  'messaging/invalid-argument': ['refused', 'FCM finds the payload invalid'],
  'messaging/invalid-payload': ['refused', 'the payload is invalid'],
  'messaging/payload-size-limit-exceeded': ['refused', 'the payload is too big for FCM'],
  'messaging/mismatched-credential': [
    'unauthorized',
    'the service account may not send here: check its project, its role and that the FCM API is enabled',
  ],
  'messaging/authentication-error': ['unauthorized', 'FCM refuses the service account: check its role'],
  'messaging/message-rate-exceeded': ['try_later', 'over the sending quota'],
  'messaging/device-message-rate-exceeded': ['try_later', 'too many messages to this phone'],
  'messaging/server-unavailable': ['try_later', 'FCM is not available'],
  'messaging/internal-error': ['try_later', 'internal error of FCM'],
}

/** The host from which `google-auth-library` gets access tokens. */
const TOKEN_HOST = 'oauth2.googleapis.com'

const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging'

/**
 * OAuth errors that last until an administrator acts (RFC 6749, 4.1.2.1 and 5.2, and Google's own codes). All other
 * errors may be temporary.
 */
const REFUSAL =
  /\b(invalid_grant|invalid_client|invalid_request|invalid_scope|unauthorized_client|access_denied|account_disabled|deleted_client|disabled_client|admin_policy_enforced|org_internal)\b/

/**
 * Minimum time between two replacements of the `firebase-admin` client, in milliseconds. Without it, each notification
 * could replace the client.
 */
export const PAUSE_MS = 10_000

/** A registration token that no phone has. */
const UNKNOWN_TOKEN = 'no-phone-has-this-registration-token'

/** Returns the servers that the FCM gateway connects to, as `host:port`. */
export function fcmServers({ endpoint }: FcmSettings): readonly string[] {
  return endpoint === null ? [`${TOKEN_HOST}:443`, `${SEND_HOST}:443`] : [new URL(endpoint).host]
}

/** Opens the FCM gateway. Throws if a file has disappeared since the configuration was read; the message names it. */
export function openFcm(settings: FcmSettings, log: Log, clock: Clock = systemClock): PushGateway {
  const account = parseServiceAccount(readFileSync(settings.serviceAccountFile as string, 'utf8'))
  const agent = new FcmAgent(endpointOf(settings), () => clock.now())
  const gateway = new FcmGateway(account, agent, clock, log)
  log.info('push-gateway-on', 'Android phones are notified by FCM.', {
    project: account.projectId,
    endpoint: settings.endpoint,
  })
  return gateway
}

type Client = ReturnType<typeof connect>

/**
 * Sends notifications to FCM through one `firebase-admin` client at a time.
 *
 * A client uses its access token until it expires, even if FCM refuses it. So a 401 replaces the client.
 */
class FcmGateway implements PushGateway {
  readonly #account: ServiceAccount
  readonly #agent: FcmAgent
  readonly #clock: Clock
  readonly #log: Log
  readonly #inFlight: InFlight
  #client: Client
  #replacedAt = Number.NEGATIVE_INFINITY

  constructor(account: ServiceAccount, agent: FcmAgent, clock: Clock, log: Log) {
    this.#account = account
    this.#agent = agent
    this.#clock = clock
    this.#log = log
    this.#inFlight = createInFlight(clock)
    this.#client = connect(account, agent)
    // If `firebase-admin` cannot be loaded, such as during an upgrade, this rejection ends the process, and its restart
    // finds the package.
    void this.#client.then()
  }

  send(pushToken: string, notification: Notification): Promise<PushOutcome> {
    return this.#request(pushToken, notification, false)
  }

  verify(): Promise<PushOutcome> {
    return this.#request(UNKNOWN_TOKEN, TRIAL, true)
  }

  async close(): Promise<void> {
    this.#inFlight.close()
    this.#agent.destroy()
    await this.#client.then(({ close }) => close()).catch(() => {})
  }

  #request(pushToken: string, notification: Notification, dryRun: boolean): Promise<PushOutcome> {
    let exchange = new FcmExchange()
    let abandoned = false
    const send = async (): Promise<PushOutcome> => {
      const client = this.#client
      const outcome = await this.#attempt(exchange, pushToken, notification, dryRun)
      // True if FCM refuses the access token, because the token expired early or was revoked.
      const isTokenRefused = exchange.status === 401 && outcome.kind === 'unauthorized'
      if (!isTokenRefused || abandoned || !this.#replace(client)) return outcome
      exchange = new FcmExchange()
      return this.#attempt(exchange, pushToken, notification, dryRun)
    }
    return this.#inFlight.run(send, () => {
      abandoned = true
      exchange.abandon()
    })
  }

  async #attempt(
    exchange: FcmExchange,
    pushToken: string,
    notification: Notification,
    dryRun: boolean,
  ): Promise<PushOutcome> {
    const { messaging } = await this.#client
    try {
      const message = fcmMessage(fitNotification(notification, measure))
      await exchange.watch(() => messaging.send({ ...message, token: pushToken }, dryRun))
      return { kind: 'accepted' }
    } catch (error) {
      const outcome = outcomeOf(error, exchange)
      this.#log.debug('fcm-answer', 'FCM did not accept a notification.', {
        outcome: outcome.kind,
        reason: outcome.reason,
        status: exchange.status,
      })
      return outcome
    }
  }

  /**
   * Replaces a `firebase-admin` client after FCM refused its access token. Returns false if the last replacement was
   * too recent.
   */
  #replace(refused: Client): boolean {
    if (this.#client !== refused) return true
    if (this.#clock.elapsed() - this.#replacedAt < PAUSE_MS) return false
    this.#replacedAt = this.#clock.elapsed()
    this.#client = connect(this.#account, this.#agent)
    refused.then(({ close }) => close()).catch(() => {})
    return true
  }
}

// `require`, because `import` also loads further ES modules of `firebase-admin`. If one fails to load, Node.js 20 ends
// the process even if the error is caught.
const require = createRequire(import.meta.url)

async function connect({ projectId, clientEmail, privateKey }: ServiceAccount, httpAgent: FcmAgent) {
  // Loaded only if FCM is configured, to save memory. `import` also delays the `require` calls until after the start.
  const { JWT } = await import('google-auth-library')
  const { deleteApp, initializeApp }: typeof import('firebase-admin/app') = require('firebase-admin/app')
  const { getMessaging }: typeof import('firebase-admin/messaging') = require('firebase-admin/messaging')
  // The credential of `firebase-admin` is not used, because it requests unnecessary scopes and does not use
  // `httpAgent`.
  const credential = {
    async getAccessToken() {
      const transporterOptions = { agent: httpAgent }
      const google = new JWT({ email: clientEmail, key: privateKey, scopes: [SCOPE], transporterOptions })
      const { access_token, expiry_date } = await google.authorize()
      if (!access_token) throw new Error("Google's answer has no access token.")
      return { access_token, expires_in: ((expiry_date ?? 0) - Date.now()) / 1000 }
    },
  }
  const app = initializeApp({ credential, projectId, httpAgent }, `mesh-companion-${randomUUID()}`)
  let closing: Promise<void> | undefined
  return {
    messaging: getMessaging(app),
    close() {
      closing ??= deleteApp(app)
      return closing
    },
  }
}

type Payload = Omit<Extract<Message, { token: string }>, 'token'>

function fcmMessage({ title, body, collapseId, data }: Notification): Payload {
  return {
    notification: { title, body },
    data: { ...data },
    android: {
      // With the same `collapseKey`, a notification replaces an undelivered one. With the same `tag`, it replaces the
      // banner on the phone.
      collapseKey: collapseId,
      priority: 'high',
      ttl: NOTIFICATION_TTL_MS,
      notification: { tag: collapseId },
    },
  }
}

/**
 * Returns an upper limit of a notification's size in bytes. FCM counts only keys and values, and their JSON is never
 * shorter.
 */
function measure(notification: Notification): number {
  return Buffer.byteLength(JSON.stringify(fcmMessage(notification)))
}

function outcomeOf(error: unknown, exchange: FcmExchange): PushFailure {
  const { code, message } = describe(error)
  if (exchange.status === 503) return later('FCM is not available', exchange)
  if (exchange.status === 401 && isAboutToken(message, exchange))
    return later('the token is of an iPhone or a browser, for which the Firebase project has no credentials', exchange)
  if (exchange.status === 401) {
    const remedy = 'check that the service account has not been disabled'
    return { kind: 'unauthorized', reason: `FCM does not accept the access token: ${clockOf(exchange)}; ${remedy}` }
  }
  if (code === 'app/invalid-credential') return credentialOutcome(message, exchange)
  // `firebase-admin` derives `messaging/invalid-argument` from the HTTP status alone, so an HTML page from a proxy
  // causes it too.
  if (code === 'messaging/invalid-argument' && message.includes('Raw server response'))
    return later(unexpected(exchange), exchange)
  // FCM uses the code `messaging/invalid-argument` for a bad payload and for a bad token. Only the text of the error's
  // message shows which is bad.
  if (code === 'messaging/invalid-argument' && /registration token/i.test(message)) {
    return { kind: 'token_gone', reason: 'FCM did not issue this token' }
  }
  if (code === 'messaging/mismatched-credential' && /sender ?id/i.test(message)) {
    return { kind: 'token_gone', reason: 'the token belongs to another Firebase project' }
  }
  const [kind, reason] = OUTCOMES[code] ?? byStatus(exchange)
  return kind === 'try_later' ? later(reason, exchange) : { kind, reason }
}

/**
 * Whether a 401 is about the registration token, and not the sidecar's credentials. Any user of the app can cause one
 * with a browser's token. `firebase-admin` uses the same code for both, and FCM often says that the access token is
 * missing (https://github.com/firebase/firebase-admin-node/issues/3215).
 */
function isAboutToken(message: string, { errorCodes }: FcmExchange): boolean {
  return errorCodes?.includes('THIRD_PARTY_AUTH_ERROR') || /APNS|Web ?Push/i.test(message)
}

/**
 * Returns the outcome of an error without a known code. Either there was no answer, or a server between the sidecar and
 * FCM answered.
 */
function byStatus(exchange: FcmExchange): readonly ['try_later', string] {
  return ['try_later', exchange.status === undefined ? 'FCM cannot be reached' : unexpected(exchange)]
}

function unexpected({ status }: FcmExchange): string {
  return `unexpected answer with status ${status}`
}

function credentialOutcome(message: string, exchange: FcmExchange): PushFailure {
  const refusal = REFUSAL.exec(message)?.[1]
  if (!refusal) return later('Google issued no access token', exchange)
  const remedy = 'check that neither the key of push.fcm.serviceAccountFile nor its account was deleted or disabled'
  return {
    kind: 'unauthorized',
    reason: `Google refuses the service account (${refusal}): ${clockOf(exchange)}; ${remedy}`,
  }
}

/** Returns advice on the system's clock, because the client libraries sign with its time. */
function clockOf({ date }: FcmExchange): string {
  return clockAdvice(date, Date.now())
}

function later(reason: string, { retryAfterMs, errorCode }: FcmExchange): PushFailure {
  const because = errorCode === undefined ? reason : `${reason} (${withClockAdvice(errorCode, Date.now())})`
  return { kind: 'try_later', reason: because, ...(retryAfterMs !== undefined && { afterMs: retryAfterMs }) }
}

function describe(error: unknown): { readonly code: string; readonly message: string } {
  if (!(error instanceof Error)) return { code: '', message: '' }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return { code, message: error.message }
}

function endpointOf({ endpoint, caFile }: FcmSettings) {
  if (endpoint === null) return undefined
  return { url: new URL(endpoint), ...(caFile !== null && { ca: readFileSync(caFile, 'utf8') }) }
}
