import { ECDH } from 'node:crypto'
import { isIP } from 'node:net'
import { isLocalName, isPublicAddress } from '../../config/address-scope.ts'

/**
 * Where and how to write to one phone: what `PushSubscription.toJSON()` gives (W3C Push API), or a UnifiedPush
 * distributor.
 */
export interface Subscription {
  /** `https:`, normalised, without credentials. */
  readonly endpoint: string
  /** Base64url without padding: the phone's authentication secret, and its public key. */
  readonly keys: { readonly auth: string; readonly p256dh: string }
}

/** One mistake; `path` is the member's within the subscription, empty for all of it. */
export interface SubscriptionProblem {
  readonly path: string
  readonly reason: string
}

/** Far longer than those of the push services that there are. */
const MAX_ENDPOINT_CHARACTERS = 2048
/** Source: RFC 1035, 2.3.4. */
const MAX_HOST_CHARACTERS = 253
const AUTH_BYTES = 16
/**
 * Google's push service until 2019. Of its addresses `web-push` writes to stderr, each time, and leaves out our
 * signature.
 */
const GCM = 'https://android.googleapis.com/gcm/send'
const FORM = 'It must be the JSON of a push subscription: { "endpoint": …, "keys": { "p256dh": …, "auth": … } }.'

/**
 * The subscription that a JSON text stands for, or every mistake in it. Members that it does not know are dropped.
 * Source: RFC 8030, RFC 8291.
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
 * The one text for a subscription, however it came. Its end, which logs show of a push token, is the public key and no
 * secret.
 */
export function subscriptionText({ endpoint, keys: { auth, p256dh } }: Subscription): string {
  return JSON.stringify({ endpoint, keys: { auth, p256dh } })
}

function parseEndpoint(value: unknown, allowPrivate: boolean): { readonly href: string } | { readonly reason: string } {
  if (typeof value !== 'string' || !URL.canParse(value)) return { reason: 'It must be an absolute address.' }
  const url = new URL(value)
  if (url.protocol !== 'https:') return { reason: 'It must be an https address.' }
  if (url.username !== '' || url.password !== '') return { reason: 'It must not have a user name or password.' }
  // Read by the rules that a request follows: 0x7f.1 and 2130706433 are 127.0.0.1 by now.
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const local = isIP(host) === 0 ? isLocalName(host) : !isPublicAddress(host)
  if (local && !allowPrivate) return { reason: 'It must be on the public internet.' }
  if (host.length > MAX_HOST_CHARACTERS)
    return { reason: `Its host must be at most ${MAX_HOST_CHARACTERS} characters long.` }
  if (url.href.startsWith(GCM)) return { reason: 'It must not be of GCM, which has ended.' }
  url.hash = ''
  if (url.href.length > MAX_ENDPOINT_CHARACTERS)
    return { reason: `It must be at most ${MAX_ENDPOINT_CHARACTERS} characters long.` }
  return { href: url.href }
}

/** Bytes in base64, of either alphabet and with or without padding: apps differ. */
function decode(value: unknown): Buffer | undefined {
  if (typeof value !== 'string' || !/^[\w+/-]+={0,2}$/.test(value)) return undefined
  return Buffer.from(value, 'base64url')
}

function isPublicKey(key: Buffer | undefined): boolean {
  if (key?.length !== 65 || key[0] !== 4) return false
  try {
    // Throws for a point that is not on the curve, with which encryption would fail at every message.
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
