import { expect } from 'chai'
import fc from 'fast-check'
import { readDomains } from '../../../../plugin/mount/read-domains.ts'
import { MINIMAL, problemPaths, readOne, settingsOf, warningsOf } from '../single-domain.ts'
import { validOidc } from '../valid-oidc.ts'

/** Changes the letter case of all member names by the bits of `mask`, repeated. Values stay unchanged. */
function respell(value: unknown, mask: readonly boolean[], unchanged: readonly string[] = []): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const letters = [...name].map((letter, index) =>
        mask[index % mask.length] ? letter.toUpperCase() : letter.toLowerCase(),
      )
      return [unchanged.includes(name) ? name : letters.join(''), respell(member, mask, unchanged)]
    }),
  )
}

describe('member names in any letter case', () => {
  // Shows: plugin 2.11, 7.14.
  it('reads the same settings in every letter case of member names', () => {
    const whole = fc.record({ oidc: validOidc, dns: fc.constant('a.example'), port: fc.constantFrom(443, 8443) })
    fc.assert(
      fc.property(whole, fc.array(fc.boolean(), { minLength: 1, maxLength: 7 }), ({ oidc, dns, port }, mask) => {
        const config = {
          settings: { port, cert: 'x.example' },
          domains: { Key: { dns, title: 'T', authStrategies: { oidc } } },
        }
        const [expected] = readDomains(config).domains
        const [reading] = readDomains(respell(config, mask, ['Key', 'logoutURL', 'hostOwn'])).domains
        expect(expected?.settings).not.to.equal(null)
        expect(reading).to.deep.equal(expected)
      }),
      { numRuns: 300 },
    )
  })

  it('warns of the deprecated spelling logoutURL, but not of other letter cases', () => {
    const address = 'https://idp.example.com/out'
    for (const name of ['logouturl', 'logoutUrl', 'LogoutURL', 'LOGOUTURL']) {
      expect(settingsOf({ ...MINIMAL, [name]: address }).logoutUrl).to.equal(address)
      expect(warningsOf({ ...MINIMAL, [name]: address })).to.deep.equal([])
    }
    expect(settingsOf({ ...MINIMAL, logoutURL: address }).logoutUrl).to.equal(address)
    expect(warningsOf({ ...MINIMAL, logoutURL: address })).to.deep.equal(['deprecated_key logoutURL'])
  })

  it('keeps the letter case of groups named Enabled and Required in groups.rights', () => {
    const rights = { Enabled: ['recordings'], enabled: ['locksettings'], Required: [] }
    expect(settingsOf({ ...MINIMAL, groups: { rights } }).groups?.rights).to.deep.equal(
      Object.entries(rights).map(([group, names]) => ({ group, rights: names })),
    )
  })

  it('ignores a member with the value undefined beside one in another letter case', () => {
    for (const members of [
      { newAccounts: undefined, newaccounts: true },
      { newaccounts: true, newAccounts: undefined },
    ])
      expect(settingsOf({ ...MINIMAL, ...members }).newAccounts).to.equal(true)
  })

  it('refuses a member that occurs in two letter cases', () => {
    const client = { client_id: 'a', Client_ID: 'b', client_secret: 'x' }
    const { problems } = readOne({ ...MINIMAL, client, newAccounts: true, newaccounts: true })
    expect(problems.map(({ path, reason }) => [path.split('oidc.')[1], reason])).to.deep.equal([
      ['client.client_id', 'occurs twice, as "client_id" and "Client_ID"'],
      ['newAccounts', 'occurs twice, as "newAccounts" and "newaccounts"'],
    ])
    expect(problemPaths({ ...MINIMAL, clientID: 'a', ClientId: 'b' })).to.deep.equal(['clientid'])
    for (const name of ['filter', 'enabled']) {
      const sync = { [name]: true, [name.toUpperCase()]: true }
      const twice = readOne({ ...MINIMAL, groups: { sync } }).problems.filter(({ reason }) => /twice/.test(reason))
      expect(twice.map(({ path }) => path.split('oidc.')[1])).to.deep.equal([`groups.sync.${name}`])
    }
  })
})
