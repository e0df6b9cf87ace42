import { expect } from 'chai'
import { createLandings } from '../../../plugin/login/transaction/landings.ts'
import { readCookies } from '../../../plugin/login/transaction/login-cookie.ts'

const secret = 'a secret of the host, long enough for it'
const rules = { secure: true, crossSitePost: false }
const session = { domainKey: '', userId: '~oidc:1', startedAt: 1_700_000_000_000 } as const
const signIn = { ...session, issuer: 'https://idp.test', subject: '1', sid: null, idToken: null, tokens: null }

describe('target page of a finished login', () => {
  let now = session.startedAt
  beforeEach(() => {
    now = session.startedAt
  })
  const landings = createLandings(secret, () => now)
  const remembered = (state = 'the-state') => landings.remember(state, session, '/devices?x=1', rules)
  const cookieOf = (header: string) => header.split(';', 1)[0]

  const find = (state: string, over: object | undefined, header?: string) =>
    landings.find(state, over && { ...signIn, ...over }, rules, readCookies(header))

  it('every server process can read the target page of a login for 10 minutes', () => {
    const cookie = cookieOf(remembered())
    const secondProcess = createLandings(secret, () => now)
    for (const ms of [0, 600_000]) {
      now = session.startedAt + ms
      expect(find('the-state', {}, cookie)).to.equal('/devices?x=1')
      expect(secondProcess.find('the-state', signIn, rules, readCookies(cookie))).to.equal('/devices?x=1')
    }
    now += 1
    expect(find('the-state', {}, cookie)).to.equal(undefined)
  })

  // Shows: plugin 9.19.
  it("a login's target page is unreadable with another session, state or secret", () => {
    const cookie = cookieOf(remembered())
    // Not the last character, because some of its bits are ignored.
    const bent = cookie?.replace(/(.)(.{9})$/, (_, letter: string, end: string) => (letter === 'A' ? 'B' : 'A') + end)
    const otherSessions = [
      { startedAt: session.startedAt + 1 },
      { userId: '~oidc:2' },
      { domainKey: 'other' },
      undefined,
    ]
    for (const over of otherSessions) expect(find('the-state', over, cookie), JSON.stringify(over)).to.equal(undefined)
    expect(find('another', {}, cookie)).to.equal(undefined)
    for (const header of ['', undefined, bent]) expect(find('the-state', {}, header)).to.equal(undefined)
    const otherLandings = createLandings('another secret, just as long as it', () => now)
    expect(otherLandings.find('the-state', signIn, rules, readCookies(cookie))).to.equal(undefined)
  })

  it('a browser has one encrypted cookie for the target page of its latest login', () => {
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
