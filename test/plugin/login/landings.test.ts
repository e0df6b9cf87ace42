import { expect } from 'chai'
import { createLandings } from '../../../plugin/login/transaction/landings.ts'
import { readCookies } from '../../../plugin/login/transaction/login-cookie.ts'

const secret = 'a secret of the host, long enough for it'
const rules = { secure: true, crossSitePost: false }
const session = { domainKey: '', userId: '~oidc:1', startedAt: 1_700_000_000_000 } as const
const signIn = { ...session, issuer: 'https://idp.test', subject: '1', sid: null, idToken: null, tokens: null }

describe('the landing of a login', () => {
  let now = session.startedAt
  beforeEach(() => {
    now = session.startedAt
  })
  const landings = createLandings(secret, () => now)
  const remembered = (state = 'the-state') => landings.remember(state, session, '/devices?x=1', rules)
  const cookieOf = (header: string) => header.split(';', 1)[0]

  const find = (state: string, over: object | undefined, header?: string) =>
    landings.find(state, over && { ...signIn, ...over }, rules, readCookies(header))

  it('is found by its state, in its own session, by another process with the same secret too, for 10 minutes', () => {
    const cookie = cookieOf(remembered())
    const another = createLandings(secret, () => now)
    for (const ms of [0, 600_000]) {
      now = session.startedAt + ms
      expect(find('the-state', {}, cookie)).to.equal('/devices?x=1')
      expect(another.find('the-state', signIn, rules, readCookies(cookie))).to.equal('/devices?x=1')
    }
    now += 1
    expect(find('the-state', {}, cookie)).to.equal(undefined)
  })

  // Shows: plugin 9.19.
  it('is not found by another state, in another session, with another secret, or without its cookie', () => {
    const cookie = cookieOf(remembered())
    // Not its last character: some of that one's bits count for nothing.
    const bent = cookie?.replace(/(.)(.{9})$/, (_, one: string, end: string) => (one === 'A' ? 'B' : 'A') + end)
    const others = [{ startedAt: session.startedAt + 1 }, { userId: '~oidc:2' }, { domainKey: 'other' }, undefined]
    for (const over of others) expect(find('the-state', over, cookie), JSON.stringify(over)).to.equal(undefined)
    expect(find('another', {}, cookie)).to.equal(undefined)
    for (const header of ['', undefined, bent]) expect(find('the-state', {}, header)).to.equal(undefined)
    const other = createLandings('another secret, just as long as it', () => now)
    expect(other.find('the-state', signIn, rules, readCookies(cookie))).to.equal(undefined)
  })

  it('takes one cookie a browser, which tells nothing to whoever reads it', () => {
    const [first, second] = [remembered('a'), remembered('b')]
    const name = '__Host-oidc-landed'
    for (const header of [first, second]) {
      expect(header).to.match(
        new RegExp(`^${name}=[\\w-]{60,100}; Max-Age=600; Path=/; HttpOnly; Secure; SameSite=Lax$`),
      )
      expect(header).to.not.match(/devices|oidc:1/)
    }
  })
})
