import { ECDH } from 'node:crypto'
import { isIP } from 'node:net'
import { isLocalName, isPublicAddress } from '../../config/address-scope.ts'

/** A phone's push address and encryption keys, from `PushSubscription.toJSON()` (W3C Push API) or UnifiedPush. */
export interface Subscription {
  /** A normalized `https:` URL without user name and password. */
  readonly endpoint: string
  /** The phone's authentication secret and its public key, in base64url without padding. */
  readonly keys: { readonly auth: string; readonly p256dh: string }
}

/** A mistake in a subscription. `path` names the member; it is empty if the whole subscription is wrong. */
export interface SubscriptionProblem {
  readonly path: string
  readonly reason: string
}

/** Limit of an endpoint's length, far above the endpoints of the known push services. */
const MAX_ENDPOINT_CHARACTERS = 2048
/** Limit of a host name's length. Source: RFC 1035, 2.3.4. */
const MAX_HOST_CHARACTERS = 253
const AUTH_BYTES = 16
/**
 * Google's former push service, shut down in 2019. For its addresses, `web-push` omits the VAPID signature and prints a
 * warning to stderr at each notification.
 */
const GCM = 'https://android.googleapis.com/gcm/send'
const FORM = 'It must be the JSON of a push subscription: { "endpoint": …, "keys": { "p256dh": …, "auth": … } }.'

/**
 * Parses a subscription in JSON. Returns the subscription without unknown members, or all mistakes in it. Source: RFC
 * 8030, RFC 8291.
 */
export function parseSubscription(
  text: string,
  allowPrivate: boolean,
): { readonly subscription: Subscription } | { readonly problems: readonly SubscriptionProblem[] } {
  const { endpoint, keys } = members(parse(text))
  if (endpoint === undefined || keys === undefined) return { problems: [{ path: '', reason: FORM }] }
  const address = parseEndpoint(endpoint, allowPrivate)
  const { auth, p256dh } = members(keys)
  const secret = decode(auth)
  const key = decode(p256dh)
  const problems: SubscriptionProblem[] = []
  if ('reason' in address) problems.push({ path: 'endpoint', reason: address.reason })
  if (!isPublicKey(key))
    problems.push({ path: 'keys.p256dh', reason: 'It must be a public key on P-256, uncompressed, in base64url.' })
  if (secret?.length !== AUTH_BYTES)
    problems.push({ path: 'keys.auth', reason: `It must be ${AUTH_BYTES} bytes in base64url.` })
  if ('reason' in address || !key || !secret || problems.length > 0) return { problems }
  return {
    subscription: {
      endpoint: address.href,
      keys: { auth: secret.toString('base64url'), p256dh: key.toString('base64url') },
    },
  }
}

/**
 * Returns equal texts for equal subscriptions. Logs show the end of a push token, so the secret `auth` is not the last.
 */
export function subscriptionText({ endpoint, keys: { auth, p256dh } }: Subscription): string {
  return JSON.stringify({ endpoint, keys: { auth, p256dh } })
}

function parseEndpoint(value: unknown, allowPrivate: boolean): { readonly href: string } | { readonly reason: string } {
  if (typeof value !== 'string' || !URL.canParse(value)) return { reason: 'It must be an absolute address.' }
  const url = new URL(value)
  if (url.protocol !== 'https:') return { reason: 'It must be an https address.' }
  if (url.username !== '' || url.password !== '') return { reason: 'It must not have a user name or password.' }
  // `URL` has normalized the host as a request would: 0x7f.1 and 2130706433 have become 127.0.0.1.
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const isLocal = isIP(host) === 0 ? isLocalName(host) : !isPublicAddress(host)
  if (isLocal && !allowPrivate) return { reason: 'It must be on the public internet.' }
  if (host.length > MAX_HOST_CHARACTERS)
    return { reason: `Its host must be at most ${MAX_HOST_CHARACTERS} characters long.` }
  if (url.href.startsWith(GCM)) return { reason: 'It must not be a GCM address, because GCM was shut down.' }
  url.hash = ''
  if (url.href.length > MAX_ENDPOINT_CHARACTERS)
    return { reason: `It must be at most ${MAX_ENDPOINT_CHARACTERS} characters long.` }
  return { href: url.href }
}

/** Decodes base64 or base64url, with or without padding. Apps use all of these forms. */
function decode(value: unknown): Buffer | undefined {
  if (typeof value !== 'string' || !/^[\w+/-]+={0,2}$/.test(value)) return undefined
  return Buffer.from(value, 'base64url')
}

function isPublicKey(key: Buffer | undefined): boolean {
  if (key?.length !== 65 || key[0] !== 4) return false
  try {
    // `convertKey` throws if the key is no point on the curve. With such a key, each notification would fail to be
    // encrypted.
    ECDH.convertKey(key, 'prime256v1')
    return true
  } catch {
    return false
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function members(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
