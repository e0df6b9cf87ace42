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
import { createInFlight } from '../gateway/in-flight.ts'
import { fitNotification, NOTIFICATION_TTL_MS, TRIAL } from '../gateway/notification.ts'
import { FcmAgent, WireCall } from './fcm-agent.ts'

/**
 * What an error code of `firebase-admin` means for a notification. Its messages are not passed on: some quote the
 * gateway's whole answer.
 */
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

const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging'

/**
 * OAuth errors (RFC 6749, 4.1.2.1 and 5.2; Google's own) that last until somebody mends something; what else happens
 * may pass.
 */
const REFUSAL =
  /\b(invalid_grant|invalid_client|invalid_request|invalid_scope|unauthorized_client|access_denied|account_disabled|deleted_client|disabled_client|admin_policy_enforced|org_internal)\b/

/** An access token is not given up again so soon: each notification's try would do so. */
export const PAUSE_MS = 10_000

/** A token that no phone has. */
const NOBODY = 'no-phone-has-this-registration-token'

/**
 * FCM through `firebase-admin`, which is loaded here and not before: it costs memory and time at start.
 * The configuration has found its files in order. Throws, naming the file, where one is gone since.
 */
export function openFcm(settings: FcmSettings, log: Log, clock: Clock = systemClock): PushGateway {
  const account = parseServiceAccount(readFileSync(settings.serviceAccountFile as string, 'utf8'))
  const agent = new FcmAgent(endpointOf(settings), () => clock.now())
  const inFlight = createInFlight(clock)
  const open = () => connect(account, agent)
  let client = open()
  // Where the package cannot be loaded, as in the middle of an installation, the process ends: the next one has it.
  void client.then()
  let reopenedAt = Number.NEGATIVE_INFINITY
  log.info('push-gateway-on', 'Android phones are notified through FCM.', {
    project: account.projectId,
    endpoint: settings.endpoint,
  })

  /**
   * The client keeps an access token for its life by the wall clock, and cannot be told to give up one that FCM does
   * not take: another client gets another one. False when `before` is as new as it may be.
   */
  function reopen(before: typeof client): boolean {
    if (client !== before) return true
    if (clock.elapsed() - reopenedAt < PAUSE_MS) return false
    reopenedAt = clock.elapsed()
    client = open()
    before.then(({ close }) => close()).catch(() => {})
    return true
  }

  async function attempt(
    call: WireCall,
    pushToken: string,
    notification: Notification,
    dryRun: boolean,
  ): Promise<PushOutcome> {
    const { messaging } = await client
    try {
      const message = fcmMessage(fitNotification(notification, measure))
      await call.watch(() => messaging.send({ ...message, token: pushToken }, dryRun))
      return { kind: 'accepted' }
    } catch (error) {
      const outcome = outcomeOf(error, call)
      log.debug('fcm-answer', 'FCM did not take a notification.', {
        outcome: outcome.kind,
        reason: outcome.reason,
        status: call.status,
      })
      return outcome
    }
  }

  function ask(pushToken: string, notification: Notification, dryRun: boolean): Promise<PushOutcome> {
    let call = new WireCall()
    let abandoned = false
    const send = async (): Promise<PushOutcome> => {
      const before = client
      const outcome = await attempt(call, pushToken, notification, dryRun)
      // The access token expired early, or was withdrawn.
      if (call.status !== 401 || outcome.kind !== 'unauthorized' || abandoned || !reopen(before)) return outcome
      call = new WireCall()
      return attempt(call, pushToken, notification, dryRun)
    }
    return inFlight.run(send, () => {
      abandoned = true
      call.abandon()
    })
  }

  return {
    send: (pushToken, notification) => ask(pushToken, notification, false),
    verify: () => ask(NOBODY, TRIAL, true),
    async close() {
      inFlight.close()
      agent.destroy()
      await client.then(({ close }) => close()).catch(() => {})
    },
  }
}

// Imported, they are modules around others, and when one of these cannot be loaded Node 20 ends the process, whoever
// catches it.
const require = createRequire(import.meta.url)

async function connect({ projectId, clientEmail, privateKey }: ServiceAccount, httpAgent: FcmAgent) {
  // The most of it, and what access tokens come by. Nothing of all this is loaded in the breath in which the sidecar
  // starts.
  const { JWT } = await import('google-auth-library')
  const { deleteApp, initializeApp }: typeof import('firebase-admin/app') = require('firebase-admin/app')
  const { getMessaging }: typeof import('firebase-admin/messaging') = require('firebase-admin/messaging')
  // The client's own credential asks for more than it takes to send, and by connections of its own.
  const credential = {
    async getAccessToken() {
      const transporterOptions = { agent: httpAgent }
      const google = new JWT({ email: clientEmail, key: privateKey, scopes: [SCOPE], transporterOptions })
      const { access_token, expiry_date } = await google.authorize()
      if (!access_token) throw new Error('The answer has no access token.')
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
      // Replaces what has not been delivered yet; the tag replaces the banner that has.
      collapseKey: collapseId,
      priority: 'high',
      ttl: NOTIFICATION_TTL_MS,
      notification: { tag: collapseId },
    },
  }
}

/** FCM counts keys and values only: their JSON is never shorter. */
function measure(notification: Notification): number {
  return Buffer.byteLength(JSON.stringify(fcmMessage(notification)))
}

function outcomeOf(error: unknown, call: WireCall): PushFailure {
  const { code, message } = describe(error)
  if (call.status === 503) return later('FCM is not available', call)
  if (call.status === 401 && isAboutToken(message, call))
    return later('the token is of an iPhone or a browser, for which the Firebase project has no credentials', call)
  if (call.status === 401) {
    const remedy = 'check that the service account has not been disabled'
    return { kind: 'unauthorized', reason: `FCM does not accept our access token: ${clockOf(call)}; ${remedy}` }
  }
  if (code === 'app/invalid-credential') return credentialOutcome(message, call)
  // By its status alone, this is the code of a page too.
  if (code === 'messaging/invalid-argument' && message.includes('Raw server response'))
    return later(unexpected(call), call)
  // The code stands for the payload as well as for the token; only the text tells them apart.
  if (code === 'messaging/invalid-argument' && /registration token/i.test(message)) {
    return { kind: 'token_gone', reason: 'FCM did not issue this token' }
  }
  if (code === 'messaging/mismatched-credential' && /sender ?id/i.test(message)) {
    return { kind: 'token_gone', reason: 'the token belongs to another Firebase project' }
  }
  const [kind, reason] = OUTCOMES[code] ?? byStatus(call)
  return kind === 'try_later' ? later(reason, call) : { kind, reason }
}

/**
 * Of the token, not of us: whoever has the app can get one for a browser of their own. FCM often words it as if our
 * access token were missing (https://github.com/firebase/firebase-admin-node/issues/3215), and the client's code for
 * both is the same.
 */
function isAboutToken(message: string, { errorCodes }: WireCall): boolean {
  return errorCodes?.includes('THIRD_PARTY_AUTH_ERROR') || /APNS|Web ?Push/i.test(message)
}

/** What has no code of its own: something between us and FCM answers, or nothing does. */
function byStatus(call: WireCall): readonly ['try_later', string] {
  return ['try_later', call.status === undefined ? 'FCM cannot be reached' : unexpected(call)]
}

function unexpected({ status }: WireCall): string {
  return `unexpected answer with status ${status}`
}

function credentialOutcome(message: string, call: WireCall): PushFailure {
  const refusal = REFUSAL.exec(message)?.[1]
  if (!refusal) return later('no access token to be had from Google', call)
  const remedy = 'check that neither the key of push.fcm.serviceAccountFile nor its account was deleted or disabled'
  return {
    kind: 'unauthorized',
    reason: `Google refuses the service account (${refusal}): ${clockOf(call)}; ${remedy}`,
  }
}

/** By the clock that the client libraries sign with, which is none of ours. */
function clockOf({ date }: WireCall): string {
  return clockAdvice(date, Date.now())
}

function later(reason: string, { retryAfterMs, errorCode }: WireCall): PushFailure {
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
