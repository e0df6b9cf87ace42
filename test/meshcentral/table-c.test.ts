import { expect } from 'chai'
import { decodeJwt } from 'jose'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { linesOf } from './support/auth-log.ts'
import { type Person, userKey } from './support/mesh-setup.ts'
import {
  answerOfIdp,
  isApp,
  isLoginPage,
  isSignedIn,
  messageOn,
  sessionOf,
  signedIn,
  signIn,
  thiefOf,
} from './support/session.ts'
import { until } from './support/until.ts'
import { useMesh } from './support/use-mesh.ts'

const FULL = 0xffffffff

/** What the built-in strategy answers in each row stands in README.md beside this file. */
describe('where MeshCentral itself falls short, the plugin', () => {
  const admins = { siteadmin: ['mesh-admins'] }
  const setup = useMesh({
    domains: {
      '': { oidc: { groups: { sync: true, ...admins } } },
      keeps: { oidc: { groups: { ...admins, revokeAdmin: false } } },
      lower: { oidc: { groups: { ...admins, revokeadmin: false } } },
      closed: { oidc: { newAccounts: false } },
      required: { oidc: { groups: { required: ['staff'] } } },
    },
  })
  afterEach(() => {
    setup.idp.faults.clear()
    setup.idp.forgeTokens()
  })

  const memberOf = (...groups: string[]) => setup.person({ groups })
  const again = async (person: Person, claims: Record<string, unknown>, domain = '') => {
    const page = await signIn(setup, setup.browser(), setup.person(claims, person), { domain })
    expect(isApp(page)).to.equal(true)
  }
  const groupsOf = async (person: Person) => {
    const links = Object.keys(((await setup.data.records()).get(userKey(person))?.links as object | undefined) ?? {})
    const records = [...(await setup.data.records()).values()]
    const ids = links.map((link) => link.replaceAll('%24', '$').replaceAll('%2E', '.'))
    return records.filter(({ _id }) => ids.includes(_id)).map(({ name }) => String(name))
  }
  /** The state of a login that the browser has begun. */
  const begin = async (browser: ScriptedBrowser, domain = '') => {
    const { headers } = await browser.step(`${setup.urlOf(domain)}auth-oidc`)
    return new URL(headers.location ?? '').searchParams
  }
  const failedLines = async (task: () => Promise<unknown>) =>
    (await linesOf(setup, task)).filter((line) => line.includes('login-failed'))

  it('keeps a site admin one with groups.revokeAdmin: false, in either spelling', async () => {
    for (const domain of ['keeps', 'lower']) {
      const person = memberOf('mesh-admins')
      await signedIn(setup, person, domain)
      await again(person, { groups: ['other'], name: 'Somebody Renamed' }, domain)
      const record = await setup.account(person, domain, ({ name }) => name === 'Somebody Renamed')
      expect(record.siteadmin, domain).to.equal(FULL)
    }
  })

  it('shows message 112 when the IdP is down at the token call, without a stack trace, at one log line', async () => {
    const browser = setup.browser()
    const person = setup.person()
    const answer = await answerOfIdp(setup, browser, person)
    await setup.idp.down()
    const lines = await failedLines(async () => {
      const page = await browser.get(answer)
      expect([page.status, isLoginPage(page), messageOn(page)]).to.deep.equal([200, true, 112])
    })
    await setup.idp.up()
    expect(lines).to.have.length(1)
    expect(lines[0]).to.include('provider_unreachable').and.to.include('ECONNREFUSED')
    expect(await setup.hasAccount(person)).to.equal(false)
  })

  it('shows message 111 when the person cancels at the IdP, at one log line', async () => {
    const browser = setup.browser()
    const page = await browser.get(`${setup.url}auth-oidc`)
    const lines = await failedLines(async () => {
      const refused = await browser.submit(page.forms[0] as NonNullable<(typeof page.forms)[0]>, {}, 'Cancel')
      expect([isLoginPage(refused), messageOn(refused)]).to.deep.equal([true, 111])
      expect(refused.body).not.to.include('cancelled the login')
    })
    expect(lines).to.have.length(1)
    expect(lines[0]).to.include('provider_error').and.to.include('access_denied').and.to.include('cancelled the login')
  })

  it("shows nothing of the IdP's error_description, whatever stands in it, and keeps it in one log line", async () => {
    for (const text of [
      '<img src=x onerror=alert(1)><script>alert(2)</script>',
      "it's over",
      'over\nNov 21 00:00:00 meshcentral OIDC[1]: INFO login: Signed in. {"user":"~oidc:forged"}',
    ]) {
      const browser = setup.browser()
      const state = (await begin(browser)).get('state') ?? ''
      const query = new URLSearchParams({ error: text, error_description: text, state, iss: setup.idp.issuer })
      const lines = await linesOf(setup, async () => {
        const page = await browser.get(`${setup.url}auth-oidc-callback?${query}`)
        expect([page.status, isLoginPage(page), messageOn(page)]).to.deep.equal([200, true, 111])
        expect(page.body).not.to.include('alert(').and.not.to.include(text)
        expect(/flashErrors = JSON.parse\('([^']*)'\)/.exec(page.body)?.[1]).to.equal('[]')
      })
      expect(lines).to.have.length(1)
      expect(lines[0]).to.include('login-failed')
      expect(JSON.stringify(setup.server().output())).not.to.include('alert(')
    }
  })

  it('shows message 117 for a wrong state or lost cookies, and 108 for a wrong nonce, at one log line, and tells no value', async () => {
    const wrongState = setup.browser()
    const right = (await begin(wrongState)).get('state') ?? ''
    const [wrongNonce, lost] = [setup.browser(), setup.browser()]
    const person = setup.person()
    const answer = await answerOfIdp(setup, wrongNonce, person)
    const ofLost = await answerOfIdp(setup, lost, setup.person())
    lost.cookies.clear()
    setup.idp.forgeTokens((genuine) => setup.idp.sign({ ...decodeJwt(genuine), nonce: 'wrong-nonce' }))
    for (const [browser, address, message, code] of [
      [wrongState, `${setup.url}auth-oidc-callback?code=x&state=wrong-state`, 117, 'transaction_missing'],
      [wrongNonce, answer, 108, 'id_token_invalid'],
      [lost, ofLost, 117, 'transaction_missing'],
    ] as const) {
      const lines = await failedLines(async () => {
        const page = await browser.get(address)
        expect([isLoginPage(page), messageOn(page)], code).to.deep.equal([true, message])
        for (const value of [right, 'wrong-state', 'nonce']) expect(page.body).not.to.include(value)
      })
      expect(lines).to.have.length(1)
      expect(lines[0]).to.include(code)
    }
    expect(await setup.hasAccount(person)).to.equal(false)
  })

  it('shows message 100 when newAccounts is false, and 111 when a required group is missing, at one log line, and keeps nothing in the session', async () => {
    for (const [domain, code, message] of [
      ['closed', 'account_unknown', 100],
      ['required', 'not_in_required_group', 111],
    ] as const) {
      const browser = setup.browser()
      const person = setup.person()
      const lines = await failedLines(async () => {
        const page = await signIn(setup, browser, person, { domain })
        expect([isLoginPage(page), messageOn(page)]).to.deep.equal([true, message])
      })
      expect(lines).to.have.length(1)
      expect(lines[0]).to.include(code).and.to.include(`"user":"~oidc:${person.sub}"`).and.to.include('127.0.0.1')
      expect(await setup.hasAccount(person, domain)).to.equal(false)
      expect(sessionOf(browser, setup.url)).to.not.have.any.keys('userid', 'passport', 'oidcSignIn')
    }
  })

  it('makes somebody who signs in as another IdP user that other user', async () => {
    const [one, other] = [setup.person(), setup.person()]
    const browser = await signedIn(setup, one)
    for (const { name, value } of browser.cookies.matching(new URL(setup.idp.issuer))) {
      browser.cookies.store(new URL(setup.idp.issuer), [`${name}=${value}; Path=/; Max-Age=0`])
    }
    expect(isApp(await signIn(setup, browser, other))).to.equal(true)
    expect(sessionOf(browser, setup.url).userid).to.equal(userKey(other))
  })

  it('signs out at the IdP with the ID token as a hint, and comes back to the login page', async () => {
    const browser = await signedIn(setup, setup.person())
    const first = await browser.step(`${setup.url}logout`)
    const query = new URL(first.headers.location ?? '').searchParams
    expect(decodeJwt(query.get('id_token_hint') ?? '').aud).to.equal('mesh')
    expect(query.get('client_id')).to.equal('mesh')
    expect(query.get('post_logout_redirect_uri')).to.equal(`${setup.url}login`)
    const asked = await browser.get(first.headers.location ?? '')
    const back = asked.forms[0] ? await browser.submit(asked.forms[0], {}, 'Yes, sign me out') : asked
    expect(back.url.split('?')[0]).to.equal(`${setup.url}login`)
    expect(isLoginPage(back)).to.equal(true)
  })

  it('begins a new session at each login, which ends the one before', async () => {
    const person = setup.person()
    const browser = await signedIn(setup, person)
    const before = sessionOf(browser, setup.url)
    const thief = thiefOf(setup, browser)
    expect(await isSignedIn(setup, thief)).to.equal(true)
    await signIn(setup, browser, person)
    const after = sessionOf(browser, setup.url)
    expect(after.x).not.to.equal(before.x)
    expect(await isSignedIn(setup, browser)).to.equal(true)
    expect(await isSignedIn(setup, thief)).to.equal(false)
  })

  it('takes somebody out of one group, of the last, and of all where the claim is absent, and lets the emptied group be', async () => {
    const person = memberOf('row-one', 'row-two')
    await signedIn(setup, person)
    for (const [claims, left] of [
      [{ groups: ['row-two'] }, ['row-two']],
      [{ groups: [] }, []],
      [{ groups: ['row-three'] }, ['row-three']],
      [{ groups: undefined }, []],
    ] as const) {
      await again(person, claims)
      await setup.account(person, '', ({ links }) => Object.keys(links ?? {}).length === left.length)
      expect(await groupsOf(person)).to.deep.equal(left)
    }
    // Written after the account.
    const emptied = await until('the group to be emptied', async () => {
      const group = [...(await setup.data.records()).values()].find(({ name }) => name === 'row-one')
      return Object.keys(group?.links ?? {}).length === 0 && group
    })
    expect(emptied.links).to.deep.equal({})
  })

  it('stores whether the IdP vouches for the address, and a name where the IdP tells none', async () => {
    const doubtful = setup.person({ email_verified: false })
    await signedIn(setup, doubtful)
    expect((await setup.account(doubtful)).emailVerified).to.equal(false)
    const nameless = setup.person({ name: undefined, preferred_username: undefined })
    setup.idp.setUser({ ...nameless, claims: { email: 'nameless@example.test' } })
    await signedIn(setup, nameless)
    expect((await setup.account(nameless)).name).to.equal('nameless@example.test')
  })

  it('notes the time of each login in the account', async () => {
    const person = setup.person()
    // Times are in whole seconds: not at the end of one.
    await until('a second to begin', () => Date.now() % 1000 < 200)
    await signedIn(setup, person)
    const { login, creation } = await setup.account(person)
    expect(login).to.equal(creation)
    await until('the next second', () => Math.floor(Date.now() / 1000) > Number(creation))
    await signedIn(setup, person)
    const record = await setup.account(person, '', (one) => Number(one.login) > Number(creation))
    expect(record.access).to.equal(record.login)
    expect(record.creation).to.equal(creation)
  })
})
