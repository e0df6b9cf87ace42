import { expect } from 'chai'
import { createLoginHistory } from '../../../plugin/mount/status/login-history.ts'

describe('history of refused logins and login warnings', () => {
  let now = 0
  const refused = (domain: string, user?: string, code = 'account_locked') => ({
    level: 'warn' as const,
    event: 'login-failed',
    message: 'Unlock it.',
    domain,
    fields: { code, email: 'private@example.com', ...(user === undefined ? {} : { user }) },
  })
  beforeEach(() => {
    now = 1000
  })

  it('the login history keeps the last ten refusals of a domain, latest first', () => {
    const history = createLoginHistory(['', 'b'], () => now)
    for (let count = 1; count <= 12; count += 1) {
      now = count
      history.note(refused('', `~oidc:${count}`))
    }
    const { refusals } = history.of('')
    expect(refusals.map(({ time }) => time)).to.deep.equal([12, 11, 10, 9, 8, 7, 6, 5, 4, 3])
    expect(history.of('b').refusals).to.deep.equal([])
  })

  it('the login history counts repeated refusals of a user and moves them to the front', () => {
    const history = createLoginHistory([''], () => now)
    for (const user of ['~oidc:a', '~oidc:b', '~oidc:a']) {
      now += 1
      history.note(refused('', user))
    }
    expect(history.of('').refusals.map(({ account, times, time }) => [account, times, time])).to.deep.equal([
      ['~oidc:a', 2, 1003],
      ['~oidc:b', 1, 1002],
    ])
  })

  it('the login history keeps the last ten warnings of a domain, and counts repeats', () => {
    const history = createLoginHistory(['', 'b'], () => now)
    const warned = (user: string | undefined, event = 'account-under-other-id') => ({
      ...refused('', user),
      event,
      fields: { user, otherAccount: '~oidc:sub' },
    })
    history.note(warned(undefined, 'userinfo-failed'))
    for (let count = 1; count <= 12; count += 1) history.note(warned(`~oidc:${count}`))
    now = 2_000
    history.note(warned('~oidc:5'))
    const { refusals, loginWarnings } = history.of('')
    expect(refusals).to.deep.equal([])
    expect(loginWarnings.map(({ account }) => account?.slice(6))).to.deep.equal([
      '5',
      '12',
      '11',
      '10',
      '9',
      '8',
      '7',
      '6',
      '4',
      '3',
    ])
    const [first] = loginWarnings
    const event = 'account-under-other-id'
    const otherAccount = '~oidc:sub'
    expect(first).to.deep.equal({
      time: 2_000,
      times: 2,
      event,
      message: 'Unlock it.',
      account: '~oidc:5',
      otherAccount,
    })
    expect(history.of('b').loginWarnings).to.deep.equal([])
  })

  it('the login history omits unknown domains, unknown events and private fields', () => {
    const history = createLoginHistory([''], () => now)
    history.note(refused('other'))
    history.note(refused('', undefined, 'deprecated_key'))
    expect(history.of('other')).to.deep.equal({ lastLogin: null, refusals: [], loginWarnings: [] })
    expect(history.of('').loginWarnings).to.deep.equal([])
    expect(history.of('').refusals).to.deep.equal([])
    history.note(refused(''))
    expect(JSON.stringify(history.of(''))).not.to.contain('private')
  })
})
