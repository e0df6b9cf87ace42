import { createECDH } from 'node:crypto'
import { isIP } from 'node:net'
import { expect } from 'chai'
import { isPublicAddress } from '../../../sidecar/config/address-scope.ts'
import { makeVapidKeys, parseVapidKeys } from '../../../sidecar/config/vapid-keys.ts'
import { parseSubscription, subscriptionText } from '../../../sidecar/push/web-push/subscription.ts'
import { pure } from '../target.ts'

const KEYS = { p256dh: createECDH('prime256v1').generateKeys('base64url'), auth: 'MDEyMzQ1Njc4OWFiY2RlZg' }
const HOSTS = ['push.example.org', '8.8.8.8', '[2001:4860:4860::8888]:8443', '127.0.0.1', '[::ffff:10.0.0.1]']
const SAMPLES = HOSTS.map((host) => JSON.stringify({ endpoint: `https://${host}/send/abc?x=1`, keys: KEYS }))

/** Push subscriptions and VAPID key files: accepted subscriptions have no private address and survive a round trip. */
export const subscriptions = pure('subscriptions', [...SAMPLES, JSON.stringify(makeVapidKeys())], (input) => {
  const text = input.toString()
  parseVapidKeys(text)
  const parsed = parseSubscription(text, false)
  if ('problems' in parsed) {
    expect(parsed.problems).to.have.length.above(0)
    return
  }
  const { endpoint } = parsed.subscription
  const host = new URL(endpoint).hostname.replace(/^\[|\]$/g, '')
  expect(endpoint).to.match(/^https:\/\/[^@/]+\//)
  expect(isIP(host) === 0 || isPublicAddress(host)).to.equal(true)
  expect(parseSubscription(subscriptionText(parsed.subscription), false)).to.deep.equal(parsed)
})
