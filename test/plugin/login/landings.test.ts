import { expect } from 'chai'
import { createLandings } from '../../../plugin/login/transaction/landings.ts'

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

  it('is found by its state, in its own session', () => {
    const cookie = cookieOf(remembered())
    expect(landings.find('the-state', signIn, rules, cookie)).to.equal('/devices?x=1')
    // In another process with the same secret too.
    expect(createLandings(secret, () => now).find('the-state', signIn, rules, cookie)).to.equal('/devices?x=1')
  })

  it('is not found by another state, in another session, after 10 minutes, with another secret, or without its cookie', () => {
    const cookie = cookieOf(remembered())
    const find = (state: string, over: object | undefined, header: string | undefined = cookie) =>
      landings.find(state, over && { ...signIn, ...over }, rules, header)
    expect(find('another', {})).to.equal(undefined)
    expect(find('the-state', undefined)).to.equal(undefined)
    expect(find('the-state', { startedAt: session.startedAt + 1 })).to.equal(undefined)
    expect(find('the-state', { userId: '~oidc:2' })).to.equal(undefined)
    expect(find('the-state', { domainKey: 'other' })).to.equal(undefined)
    expect(find('the-state', {}, '')).to.equal(undefined)
    // Not its last character: some of that one's bits count for nothing.
    const bent = cookie?.replace(/(.)(.{9})$/, (_, one: string, end: string) => (one === 'A' ? 'B' : 'A') + end)
    expect(find('the-state', {}, bent)).to.equal(undefined)
    const other = createLandings('another secret, just as long as it', () => now)
    expect(other.find('the-state', signIn, rules, cookie)).to.equal(undefined)
    now += 600_000
    expect(find('the-state', {})).to.equal('/devices?x=1')
    now += 1
    expect(find('the-state', {})).to.equal(undefined)
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
