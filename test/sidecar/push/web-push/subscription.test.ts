import { createECDH } from 'node:crypto'
import { expect } from 'chai'
import { shortToken } from '../../../../sidecar/log.ts'
import { parseSubscription, subscriptionText } from '../../../../sidecar/push/web-push/subscription.ts'

const P256DH = createECDH('prime256v1').generateKeys('base64url')
const AUTH = 'MDEyMzQ1Njc4OWFiY2RlZg'
const KEYS = { p256dh: P256DH, auth: AUTH }
const ENDPOINT = 'https://push.example.org/send/abc?x=1'
const VALID = { endpoint: ENDPOINT, keys: KEYS }

const parse = (value: unknown, allowPrivate = false) =>
  parseSubscription(typeof value === 'string' ? value : JSON.stringify(value), allowPrivate)
const problems = (value: unknown) => {
  const parsed = parse(value)
  return 'problems' in parsed ? parsed.problems.map(({ path }) => path) : []
}
const endpointOf = (endpoint: string, allowPrivate = false) => {
  const parsed = parse({ ...VALID, endpoint }, allowPrivate)
  return 'subscription' in parsed ? parsed.subscription.endpoint : parsed.problems[0]?.reason
}

describe('A Web Push subscription', () => {
  // Shows: sidecar C14.1.
  it('parses a subscription with extra JSON members, and serializes it without them', () => {
    const browser = JSON.stringify({ ...VALID, expirationTime: null }, null, 2)
    expect(parse(browser)).to.deep.equal({ subscription: VALID })
    const text = subscriptionText(VALID)
    expect(parse(text)).to.deep.equal({ subscription: VALID })
    expect(text).to.not.match(/\s/)
  })

  it('accepts the keys of a Web Push subscription in base64 or base64url', () => {
    const base64 = (text: string) => Buffer.from(text, 'base64url').toString('base64')
    expect(parse({ ...VALID, keys: { p256dh: base64(P256DH), auth: base64(AUTH) } })).to.deep.equal(parse(VALID))
  })

  // Shows: sidecar C14.14.
  it('the log shows neither endpoint nor secret of a Web Push subscription', () => {
    const text = subscriptionText(VALID)
    expect(shortToken(text)).to.equal(`…${P256DH.slice(-3)}"}}`)
  })

  for (const text of ['', '{', 'null', '[]', '"https://push.example.org"', '{}', '{"endpoint":"https://a.example"}'])
    it(`refuses ${text || 'an empty text'} as a Web Push subscription`, () =>
      expect(problems(text)).to.deep.equal(['']))

  it('reports every mistake in a Web Push subscription at once', () => {
    expect(problems({ endpoint: 'ftp://a.example', keys: {} })).to.deep.equal(['endpoint', 'keys.p256dh', 'keys.auth'])
  })

  for (const [caseName, p256dh] of [
    ['a number', 1],
    ['too short', P256DH.slice(0, -2)],
    ['compressed', createECDH('prime256v1').generateKeys('base64url', 'compressed')],
    ['not on the curve', Buffer.concat([Buffer.of(4), Buffer.alloc(64, 1)]).toString('base64url')],
    ['not base64', `${P256DH.slice(0, -1)}!`],
  ] as const)
    it(`refuses a subscription whose public key is ${caseName}`, () =>
      expect(problems({ ...VALID, keys: { ...KEYS, p256dh } })).to.deep.equal(['keys.p256dh']))

  for (const auth of [null, '', 'MDEy', `${AUTH}AAAA`])
    it(`refuses a subscription with the secret ${JSON.stringify(auth)}`, () =>
      expect(problems({ ...VALID, keys: { ...KEYS, auth } })).to.deep.equal(['keys.auth']))

  for (const endpoint of ['http://push.example.org/', 'file:///etc/passwd', 'push.example.org', '//push.example.org'])
    it(`refuses the Web Push endpoint ${endpoint}`, () =>
      expect(endpointOf(endpoint)).to.match(/^It must be an (https|absolute) address\.$/))

  it('refuses a Web Push endpoint with a user name, or with over 2048 characters', () => {
    expect(endpointOf('https://me@push.example.org/')).to.include('user name')
    expect(endpointOf('https://:secret@push.example.org/')).to.include('user name')
    expect(endpointOf('https://push.example.org/a#b')).to.equal('https://push.example.org/a')
    expect(endpointOf(`https://push.example.org/${'a'.repeat(2100)}`)).to.include('2048')
    expect(endpointOf(`https://push.example.org/${'é'.repeat(700)}`)).to.include('2048')
    expect(endpointOf(`https://${'a.'.repeat(200)}org/`)).to.include('253')
  })

  it('refuses Web Push endpoints of GCM, which was shut down', () => {
    for (const endpoint of [
      'https://android.googleapis.com/gcm/send/a',
      'https://ANDROID.googleapis.com:443/gcm/sender',
    ])
      expect(endpointOf(endpoint)).to.equal('It must not be a GCM address, because GCM was shut down.')
    expect(endpointOf('https://android.googleapis.com/wp/a')).to.match(/^https:/)
  })

  // Shows: sidecar C14.8.
  for (const host of ['intranet', '127.0.0.1', '2130706433', '0177.0.0.1', '[::ffff:10.0.0.1]', '１２７.0.0.1'])
    it(`refuses a Web Push endpoint on ${host}, unless private networks are allowed`, () => {
      expect(endpointOf(`https://${host}/x`)).to.equal('It must be on the public internet.')
      expect(endpointOf(`https://${host}/x`, true)).to.match(/^https:.*\/x$/)
    })
})
