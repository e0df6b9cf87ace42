import { expect } from 'chai'
import { moveDeprecatedKeys } from '../../../../plugin/config/migration/deprecated-keys.ts'
import { CLIENT, ISSUER, MINIMAL, problemPaths, readOne, settingsOf, warningsOf } from '../single-domain.ts'

const OLD = 'https://old.example.com/x'
const NEW = 'https://new.example.com/x'

const withClient = (client: object) => ({ client })
const NEW_CLIENT = { client_id: 'new', client_secret: 'new' }
const withEndpoint = (endpoint: string) => ({ issuer: { issuer: ISSUER, [endpoint]: NEW } })

/**
 * Deprecated key, its value, its new path, members beside it, and a configuration that has another value at the new
 * path.
 */
const TABLE = [
  ['clientid', 'old', 'client.client_id', withClient({ client_secret: 'new' }), withClient(NEW_CLIENT)],
  ['clientsecret', 'old', 'client.client_secret', withClient({ client_id: 'new' }), withClient(NEW_CLIENT)],
  ['callbackURL', OLD, 'client.redirect_uri', {}, withClient({ ...CLIENT, redirect_uri: NEW })],
  ['authorizationURL', OLD, 'issuer.authorization_endpoint', {}, withEndpoint('authorization_endpoint')],
  ['tokenURL', OLD, 'issuer.token_endpoint', {}, withEndpoint('token_endpoint')],
  ['userInfoURL', OLD, 'issuer.userinfo_endpoint', {}, withEndpoint('userinfo_endpoint')],
  ['logoutURL', OLD, 'logouturl', {}, { logouturl: NEW }],
  ['scope', ['openid', 'old'], 'custom.scope', {}, { custom: { scope: 'openid new' } }],
  ['tenantid', 'old', 'custom.tenant_id', {}, { custom: { tenant_id: 'new' } }],
  ['customerid', 'Cold', 'custom.customer_id', {}, { custom: { customer_id: 'Cnew' } }],
] as const

const withValue = (oidc: object, path: string, value: unknown): object => {
  const [first = '', second] = path.split('.')
  const inner = (oidc as Record<string, unknown>)[first]
  const members = typeof inner === 'string' ? { issuer: inner } : (inner as object | undefined)
  return { ...oidc, [first]: second === undefined ? value : { ...members, [second]: value } }
}

describe('deprecated keys in the oidc object', () => {
  for (const [old, value, place, beside, both] of TABLE) {
    // Shows: plugin 7.1, 7.2, 7.3, 7.4, 7.5, 7.6, 7.7, 7.8, 7.9, 7.10.
    it(`reads ${old} as ${place} with a warning`, () => {
      const oidc = { ...MINIMAL, ...beside, [old]: value }
      const { settings, warnings } = readOne(oidc)
      const { [old]: _moved, ...rest } = oidc as Record<string, unknown>
      expect(settings).to.deep.equal(settingsOf(withValue(rest, place, value)))
      expect(warnings).to.have.length(1)
      expect(warnings[0]).to.include({ code: 'deprecated_key', path: `domains[""].authStrategies.oidc.${old}` })
      expect(warnings[0]?.remedy).to.equal(`Move it to ${place}.`)
    })

    // Shows: plugin 7.13.
    it(`prefers ${place} to ${old} with a warning`, () => {
      const { settings, warnings } = readOne({ ...MINIMAL, ...both, [old]: value })
      expect(settings).to.deep.equal(settingsOf({ ...MINIMAL, ...both }))
      const deprecated = warnings.filter(({ code }) => code === 'deprecated_key')
      expect(deprecated.map(({ reason }) => reason)).to.deep.equal([
        `is deprecated, and is ignored because ${place} is there`,
      ])
    })
  }

  // Shows: plugin 7.11.
  it('lets the deprecated groups.sync.enabled turn groups.sync on or off', () => {
    for (const [old, now] of [
      [{ enabled: true }, true],
      [{ Enabled: true }, true],
      [{ enabled: false }, false],
      [{ enabled: false, filter: ['a'] }, false],
      [{ enabled: true, filter: ['a'] }, { filter: ['a'] }],
    ]) {
      const oidc = { ...MINIMAL, groups: { sync: old } }
      expect(settingsOf(oidc)).to.deep.equal(settingsOf({ ...MINIMAL, groups: { sync: now } }))
      expect(warningsOf(oidc)).to.deep.equal(['deprecated_key groups.sync.enabled'])
      expect(readOne(oidc).warnings[0]?.remedy).to.equal('Move it to groups.sync.')
    }
    expect(problemPaths({ ...MINIMAL, groups: { sync: { enabled: 'yes', filter: 'a' } } })).to.deep.equal([
      'groups.sync.enabled',
    ])
  })

  it("reports a wrong value of a deprecated key at that key's path", () => {
    const mistakes = { clientid: 5, clientsecret: '', callbackURL: 'x', authorizationURL: 'http://a.example' }
    expect(problemPaths({ issuer: ISSUER, ...mistakes })).to.have.members(Object.keys(mistakes))
    const moreMistakes = { issuer: 'x', clientid: 'a', clientsecret: 'b', tokenURL: 5, scope: ['a', 5] }
    expect(problemPaths(moreMistakes)).to.have.members(['issuer', 'tokenURL', 'scope[1]'])
    expect(problemPaths({ issuer: ISSUER, clientid: 'a' })).to.deep.equal(['client.client_secret'])
    for (const [issuer, path] of [
      ['x', 'issuer'],
      [{ issuer: 'x' }, 'issuer.issuer'],
    ])
      expect(problemPaths({ client: CLIENT, issuer, tokenURL: OLD })).to.deep.equal([path])
  })

  it('migration keeps a deprecated key that it cannot move, and warns', () => {
    for (const client of [5, 'mesh']) {
      const oidc = { issuer: ISSUER, client, clientid: 'a' }
      expect(problemPaths(oidc)).to.deep.equal(['client'])
      expect(warningsOf(oidc)).to.deep.equal(['deprecated_key clientid'])
      expect(moveDeprecatedKeys(oidc).oidc).to.deep.equal(oidc)
    }
    for (const unclear of [
      { issuer: ISSUER, clientId: 'a', clientid: 'b' },
      { groups: { sync: { enabled: true, Enabled: false } } },
      { groups: { sync: { enabled: true } }, Groups: {} },
      { groups: { sync: { enabled: true }, Sync: true } },
      { groups: { sync: { filter: 'a' } } },
      { groups: { sync: null } },
      { groups: null },
    ]) {
      expect(moveDeprecatedKeys(unclear)).to.deep.equal({ oidc: unclear, warnings: [], origins: new Map() })
    }
  })
})
