import { expect } from 'chai'
import { recordsInMemory } from '../../../fixtures/host/accounts-memory.ts'
import type { Records } from '../../../fixtures/host/records.ts'
import type { Accounts, AuthLogEntry, LoginTokens, Profile } from '../../../plugin/host/port.ts'
import { lockOutRefusedUser } from '../../../plugin/sessions/refused-user.ts'
import { MINIMAL, settingsOf } from '../config/single-domain.ts'

const BOB: Profile = { id: '~oidc:bob', name: 'Bob', email: null, emailVerified: null }
const RULES = { required: 'staff', siteadmin: 'admins', sync: true, rights: { staff: ['manageusers'] } }

describe('lockout of a refused user', () => {
  let records: Records
  let calls: unknown[]
  let lines: AuthLogEntry[]
  beforeEach(async () => {
    records = recordsInMemory()
    calls = []
    lines = []
    await records.accounts.create('', BOB)
    await records.accounts.setSiteAdmin('', BOB.id, true)
    await records.groups.join('', BOB.id, 'staff')
    await records.groups.joinByHand('', BOB.id, 'crew')
  })
  afterEach(() => records.close())

  interface Around {
    readonly groups?: object
    readonly userId?: Profile['id']
    readonly accounts?: Partial<Accounts>
    readonly loginTokens?: Partial<LoginTokens>
    readonly endSessions?: () => Promise<number | null>
  }
  const lockOut = ({ groups = RULES, userId = BOB.id, accounts, loginTokens, endSessions }: Around = {}) => {
    const setRights: Accounts['setRights'] = async (...call) => {
      calls.push(['rights', ...call.slice(2)])
      return true
    }
    const suspend: LoginTokens['suspend'] = async () => {
      calls.push('tokens')
    }
    const host = {
      groups: records.groups,
      accounts: { ...records.accounts, setRights, ...accounts },
      loginTokens: { confirm: () => Promise.reject(new Error('not this')), suspend, ...loginTokens },
      authLog: (line: AuthLogEntry) => lines.push(line),
    }
    const sessions = async () => {
      calls.push('sessions')
      return 2
    }
    const settings = settingsOf({ ...MINIMAL, groups })
    return lockOutRefusedUser(host, { settings, userId, req: null, endSessions: endSessions ?? sessions })
  }
  const account = () => records.accounts.find('', BOB.id)
  const groups = () => records.groups.allOf('', BOB.id)
  const events = () => lines.map(({ event }) => event).sort()

  // Shows: plugin 6.12.
  it('a refused user loses sessions, login tokens, rights and mirrored groups', async () => {
    await lockOut()
    expect(calls).to.have.deep.members(['sessions', 'tokens', ['rights', [], true]])
    expect(await account()).to.include({ siteAdmin: false })
    expect(await groups()).to.deep.equal(['crew'])
    expect(lines.find(({ event }) => event === 'refused-user-rights-revoked')?.fields).to.deep.equal({
      user: BOB.id,
      siteAdmin: 'revoke',
      rights: [],
      left: ['staff'],
    })
  })

  // Shows: plugin 6.12.
  it('a refused user keeps site admin and rights if revokeAdmin is false', async () => {
    await lockOut({ groups: { ...RULES, revokeAdmin: false } })
    expect(calls).to.deep.include(['rights', [], false])
    expect(await account()).to.include({ siteAdmin: true })
    expect(await groups()).to.deep.equal(['crew'])
  })

  it('a refused user keeps rights and groups that no rule manages', async () => {
    await lockOut({ groups: { required: 'staff' } })
    expect(calls).to.have.members(['sessions', 'tokens'])
    expect(await account()).to.include({ siteAdmin: true })
    expect(await groups()).to.deep.equal(['crew', 'staff'])
    expect(events()).to.deep.equal(['refused-user-signed-out'])
  })

  it('locking out a locked account keeps its rights, because a change would unlock it', async () => {
    const find: Accounts['find'] = async (domain, id) => {
      const account = await records.accounts.find(domain, id)
      return account && { ...account, locked: true }
    }
    await lockOut({ accounts: { find } })
    expect(calls).to.have.members(['sessions', 'tokens'])
    expect(await account()).to.include({ siteAdmin: true })
  })

  it('locking out a user who has no account changes nothing', async () => {
    await lockOut({ userId: '~oidc:nobody' })
    expect({ calls, lines }).to.deep.equal({ calls: [], lines: [] })
  })

  // Shows: plugin 6.12.
  it('locking out a user continues if one step fails, and logs each failure', async () => {
    const fail = () => Promise.reject(new Error('disk full'))
    await lockOut({ endSessions: fail })
    expect(await account()).to.include({ siteAdmin: false })
    await lockOut({ accounts: { setRights: fail } })
    await lockOut({ loginTokens: { suspend: fail } })
    expect(calls.filter((call) => call === 'tokens')).to.have.length(2)
    const failed = lines.filter(({ level }) => level === 'error').map(({ event, fields }) => [event, fields.code])
    expect(failed).to.deep.equal([
      ['refused-user-not-signed-out', 'host_failed'],
      ['refused-user-rights-kept', 'host_failed'],
      ['refused-user-not-signed-out', 'host_failed'],
    ])
  })
})
