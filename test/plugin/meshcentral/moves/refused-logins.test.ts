import { expect } from 'chai'
import type { Profile } from '../../../../plugin/host/port.ts'
import { LISTED_DAYS, RefusedLogins } from '../../../../plugin/meshcentral/moves/refused-logins.ts'
import type { MeshUser } from '../../../../plugin/meshcentral/server.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

const NOW = 1_790_000_000_000
const DAY_MS = 24 * 60 * 60_000
const TOM: Profile = { id: '~oidc:1', name: 'Tom', email: 'tom@example.test', emailVerified: true }
const NEW_ID = 'user//~oidc:1'

function refusedLogins(...accounts: readonly (readonly [id: string, more?: Partial<MeshUser>])[]) {
  const dates = { creation: 0, login: 0, access: 0 }
  const verified = { email: 'Tom@example.test', emailVerified: true }
  const users = accounts.map(([_id, more = {}]): MeshUser => {
    const domain = _id.split('/')[1] ?? ''
    return { type: 'user', _id, name: _id, domain, ...dates, ...verified, ...more }
  })
  const clock = new FakeClock(NOW)
  const refusals = new RefusedLogins({ users: Object.fromEntries(users.map((user) => [user._id, user])) }, clock)
  const pairs = () => refusals.of('').map(({ from, to }) => [from, to])
  return { clock, refusals, pairs }
}

describe('refused logins of users who have an account', () => {
  // Shows: plugin 6.19.
  it('lists a refused login with the accounts of the same verified address', () => {
    const { refusals, pairs } = refusedLogins(['user//tom'], ['user//~ldap:tom'], ['user/other/tom'])
    refusals.note('', TOM, 'account_unknown')
    const [ldap, password] = ['user//~ldap:tom', 'user//tom']
    expect(pairs()).to.deep.equal([
      [password, NEW_ID],
      [ldap, NEW_ID],
    ])
    expect(refusals.of('')[0]).to.deep.include({ code: 'account_unknown', time: NOW })
    expect(refusals.of('other')).to.deep.equal([])
  })

  // Shows: plugin 6.19.
  it('lists a refused login only if the IdP and MeshCentral verified its address', () => {
    for (const emailVerified of [null, false]) {
      const { refusals, pairs } = refusedLogins(['user//tom'])
      refusals.note('', { ...TOM, emailVerified }, 'account_unknown')
      refusals.note('', { ...TOM, email: null }, 'account_unknown')
      expect(pairs()).to.deep.equal([])
    }
    const { refusals, pairs } = refusedLogins(['user//tom', { emailVerified: false }])
    refusals.note('', TOM, 'account_unknown')
    expect(pairs()).to.deep.equal([])
  })

  it('lists no login refused for groups, a locked account, maintenance or host failure', () => {
    const { refusals, pairs } = refusedLogins(['user//tom'])
    for (const code of ['not_in_required_group', 'account_locked', 'maintenance', 'host_failed'] as const)
      refusals.note('', TOM, code)
    expect(pairs()).to.deep.equal([])
  })

  it('lists an issuer_changed refusal only if account and user have the same address', () => {
    const other = refusedLogins(['user//tom'], [NEW_ID, { email: 'eve@example.test' }])
    other.refusals.note('', TOM, 'issuer_changed')
    expect(other.pairs()).to.deep.equal([])
    const same = refusedLogins(['user//tom'], [NEW_ID])
    same.refusals.note('', TOM, 'issuer_changed')
    expect(same.pairs()).to.deep.equal([[NEW_ID, NEW_ID]])
  })

  it('lists a refused login for seven days, and only once even if it is repeated', async () => {
    const { clock, refusals } = refusedLogins(['user//tom'])
    refusals.note('', TOM, 'account_limit')
    await clock.advance(DAY_MS)
    refusals.note('', TOM, 'account_unknown')
    expect(refusals.of('')).to.deep.equal([
      { from: 'user//tom', to: NEW_ID, code: 'account_unknown', time: NOW + DAY_MS },
    ])
    await clock.advance(LISTED_DAYS * DAY_MS)
    expect(refusals.of('')).to.have.length(1)
    await clock.advance(1)
    expect(refusals.of('')).to.deep.equal([])
    expect(refusals.since).to.equal(NOW)
  })

  it('lists the 50 latest refused logins of a domain', () => {
    const { refusals, pairs } = refusedLogins(['user//tom'])
    for (let index = 1; index <= 60; index += 1) refusals.note('', { ...TOM, id: `~oidc:${index}` }, 'account_unknown')
    expect(pairs()).to.have.length(50)
    expect(pairs()[0]).to.deep.equal(['user//tom', 'user//~oidc:60'])
  })
})
