import { expect } from 'chai'
import fc from 'fast-check'
import { type Idp, startIdp } from '../../../fixtures/idp/server.ts'
import { makeKey } from '../../support/client-keys.ts'
import { type KeyedOptions, keyedSetups } from '../../support/keyed-setup.ts'
import { startCookieSessionServer } from '../../support/own-server.ts'
import { propertyRuns } from '../../support/property-runs.ts'
import { MeasuredBrowser, MOST } from '../../support/proxies/measured-browser.ts'

interface Served {
  readonly idp: Idp
  readonly url: string
  readonly close: () => Promise<unknown>
}

const withExpressSessions =
  (options: KeyedOptions) =>
  async (start: ReturnType<typeof keyedSetups>): Promise<Served> => {
    const { idp, host } = await start({ ...options, oidc: { groups: {} } })
    return { idp, url: host.url, close: async () => undefined }
  }
const withCookieSessions = async (): Promise<Served> => {
  const idp = await startIdp()
  const { url, close } = await startCookieSessionServer({ idp, oidc: { groups: {} } })
  return { idp, url, close: () => close().then(idp.close) }
}
const POSTED = { response_types: ['code id_token'] }
const SIGNED = { request_object_signing_alg: 'RS256' }
const ENCRYPTED = {
  ...SIGNED,
  request_object_encryption_alg: 'RSA-OAEP-256',
  request_object_encryption_enc: 'A256CBC-HS512',
}

describe('login through a reverse proxy with default size limits', () => {
  const start = keyedSetups()
  for (const [kind, serve] of [
    ['a session in a cookie', withCookieSessions],
    ['a session that is an identifier', withExpressSessions({})],
    ['a signed request', withExpressSessions({ keys: [makeKey('RSA')], client: SIGNED })],
    ['a signed and encrypted request', withExpressSessions({ keys: [makeKey('RSA')], client: ENCRYPTED })],
    ['a pushed request', withExpressSessions({ client: { require_pushed_authorization_requests: true } })],
    [
      'a posted answer',
      withExpressSessions({
        client: POSTED,
        registered: { ...POSTED, grant_types: ['authorization_code', 'implicit'] },
      }),
    ],
  ] as const) {
    // Shows: plugin 4.36.
    it(`a login's cookies and URLs fit the default limits of proxies, with ${kind}`, async () => {
      const { idp, url, close } = await serve(start)
      const cases = fc.record({
        groups: fc.constantFrom(0, 30, 400),
        subject: fc.integer({ min: 1, max: 255 }),
        name: fc.integer({ min: 1, max: 4_000 }),
        path: fc.integer({ min: 1, max: 600 }),
        hint: fc.integer({ min: 0, max: 300 }),
        tabs: fc.integer({ min: 0, max: 14 }),
      })
      const property = fc.asyncProperty(cases, async ({ groups, subject, name, path, hint, tabs }) => {
        const sub = 's'.repeat(subject)
        const all = Array.from({ length: groups }, (_, index) => `a group of the company, number ${index}`)
        idp.setUser({ username: 'p', password: 'p-demo', sub, claims: { name: 'é'.repeat(name), groups: all } })
        const browser = new MeasuredBrowser(url)
        const query = new URLSearchParams({ return: `/${'p'.repeat(path - 1)}`, login_hint: '漢'.repeat(hint) })
        const address = `${url}auth-oidc?${query}`
        try {
          for (let tab = 0; tab < tabs; tab += 1) await browser.step(address)
          const page = await browser.signIn(await browser.get(address), 'p', 'p-demo')
          const landed = page.trail.at(-1) ?? ''
          expect(landed.startsWith(url) && !landed.includes('failure'), landed).to.equal(true)
          // Begins another login while signed in, then signs out.
          await browser.step(address)
          await browser.get(`${url}logout`)
          for (const [measure, limit] of Object.entries(MOST))
            expect(browser.most[measure as keyof typeof MOST], measure).to.be.at.most(limit)
        } finally {
          browser.close()
        }
      })
      try {
        await fc.assert(property, {
          numRuns: propertyRuns(4),
          examples: [[{ groups: 400, subject: 255, name: 4_000, path: 512, hint: 56, tabs: 12 }]],
        })
      } finally {
        await close()
      }
    })
  }
})
