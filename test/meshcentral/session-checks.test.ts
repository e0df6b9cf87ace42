import { expect } from 'chai'
import { decodeJwt } from 'jose'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { keyOfHandle } from '../../plugin/host/revocations.ts'
import { pluginLines } from './support/auth-log.ts'
import type { Person } from './support/mesh-setup.ts'
import { isSignedIn, sessionOf, signedIn } from './support/session.ts'
import { until } from './support/until.ts'
import { closes, useMesh } from './support/use-mesh.ts'

const every = (sessionCheckMinutes: number) => ({
  settings: { plugins: { enabled: true, list: ['meshcompanion'], meshcompanion: { sessionCheckMinutes } } },
  // Each refresh token once: a second renewal by the same one ends the session.
  idp: { rotateRefreshTokens: true },
})
/** About once a second. */
const OFTEN = every(0.015)
const NEVER = every(0)
const RENEWED = { grant_types: ['authorization_code', 'refresh_token'] }

describe('whether sessions of MeshCentral still live', () => {
  const setup = useMesh(OFTEN)
  beforeEach(() => setup.register(RENEWED))
  afterEach(() => {
    setup.idp.forgeTokens()
    setup.idp.faults.clear()
  })

  const questions = () => setup.idp.requests('token')
  /** Until the IdP was asked once more. */
  const nextQuestion = async (more = 1) => {
    const before = questions()
    await until('a question', () => questions() >= before + more)
  }
  const endingsOf = (...persons: readonly Person[]) =>
    until('the line', async () => {
      const users = persons.map(({ sub }) => `~oidc:${sub}`)
      const lines = (await pluginLines(setup)).filter(
        ({ event, fields }) => event === 'session-ended' && users.includes(String(fields.user)),
      )
      return lines.length > 0 && lines
    })
  /** What an administrator does who lets somebody go: no logout token is sent. */
  const endAtIdp = async (browser: ScriptedBrowser) => {
    const asked = await browser.get(`${setup.idp.issuer}/session/end`)
    await browser.submit(asked.forms[0] as NonNullable<(typeof asked.forms)[0]>, {}, 'Yes, sign me out')
  }
  /** The one of the session of a browser, once it is written. What others leave behind may still be going. */
  const recordOf = (browser: ScriptedBrowser) => {
    const { handle } = sessionOf(browser, setup.url).oidcSignIn as { handle: string }
    return until('the record', async () =>
      (await setup.data.records()).get(`meshcompaniontokens/${keyOfHandle(handle)}`),
    )
  }

  it('goes on with renewed tokens, in one record, after a restart as well', async () => {
    const browser = await signedIn(setup, setup.person())
    const { sealed } = await recordOf(browser)
    const page = await setup.open(browser)
    await until('another one in its place', async () => (await recordOf(browser)).sealed !== sealed)
    // A renewal that the restart cuts off would have used its refresh token up: the IdP gives none meanwhile. A session is asked about once
    // the answer before is written, and there is no other one yet: this test comes first.
    setup.idp.faults.set('token', { kind: 'answer', status: 503 })
    await nextQuestion()
    await setup.restart()
    setup.idp.faults.clear('token')
    await setup.register(RENEWED)
    expect(await isSignedIn(setup, browser)).to.equal(true)
    const again = await setup.open(browser)
    await nextQuestion(2)
    expect(page.isOpen()).to.equal(false)
    expect(again.isOpen()).to.equal(true)
    await endAtIdp(browser)
    await closes(again)
  })

  it('ends one that is over at the IdP, its open pages with it, and no other', async () => {
    const [person, other] = [setup.person(), setup.person()]
    const [browser, elsewhere] = [await signedIn(setup, person), await signedIn(setup, person)]
    const [page, bystander] = [await setup.open(browser), await setup.open(await signedIn(setup, other))]
    await endAtIdp(browser)
    await closes(page)
    expect(await isSignedIn(setup, browser)).to.equal(false)
    await nextQuestion(2)
    expect(await isSignedIn(setup, elsewhere)).to.equal(true)
    expect(bystander.isOpen()).to.equal(true)
    const lines = await endingsOf(person, other)
    expect(lines.map(({ level, fields }) => ({ level, fields }))).to.deep.equal([
      {
        level: 'INFO',
        fields: { user: `~oidc:${person.sub}`, error: 'invalid_grant', errorDescription: 'grant request is invalid' },
      },
    ])
  })

  it('asks about the access token where the IdP gave no refresh token', async () => {
    await setup.register({})
    const browser = await signedIn(setup, setup.person())
    const page = await setup.open(browser)
    const asked = setup.idp.requests('introspection')
    await until('a question', () => setup.idp.requests('introspection') > asked)
    expect(page.isOpen()).to.equal(true)
    await endAtIdp(browser)
    await closes(page)
  })

  it('ends one that a frame on the page of the IdP names, its open pages with it, and no other, after a restart as well', async () => {
    await setup.register({
      ...RENEWED,
      backchannel_logout_uri: 'http://127.0.0.1:1/',
      backchannel_logout_session_required: true,
    })
    const tokens: string[] = []
    setup.idp.forgeTokens((token) => {
      tokens.push(token)
      return token
    })
    const browser = await signedIn(setup, setup.person())
    const sid = String(decodeJwt(tokens.at(-1) ?? '').sid)
    await recordOf(browser)
    await setup.restart(NEVER)
    const [page, other] = [await setup.open(browser), await setup.open(await signedIn(setup, setup.person()))]
    const frame = (name: string) =>
      setup
        .browser()
        .step(`${setup.url}auth-oidc-frontchannel-logout?${new URLSearchParams({ iss: setup.idp.issuer, sid: name })}`)
    expect((await frame('made up')).status).to.equal(200)
    expect(page.isOpen()).to.equal(true)
    const { status, headers } = await frame(sid)
    expect(status).to.equal(200)
    expect(headers['x-frame-options']).to.equal(undefined)
    expect(headers['content-security-policy']).to.equal(`default-src 'none'; frame-ancestors ${setup.idp.issuer}`)
    await closes(page)
    expect([await isSignedIn(setup, browser), other.isOpen()]).to.deep.equal([false, true])
    await setup.restart(OFTEN)
  })

  it('keeps no token in the cookie, none that can be read in the database, and none once the session is over', async () => {
    await setup.restart()
    const browser = await signedIn(setup, setup.person({ name: 'n'.repeat(2_200) }))
    const record = await recordOf(browser)
    const { oidcSignIn } = sessionOf(browser, setup.url)
    const { handle } = oidcSignIn as { handle: string }
    expect(JSON.stringify(oidcSignIn)).not.to.match(/access|refresh|eyJ/)
    expect(JSON.stringify(record)).not.to.match(/access|refresh|eyJ/)
    expect(JSON.stringify(record)).not.to.include(handle)
    const sizes = browser.cookies.matching(new URL(setup.url)).map(({ name, value }) => name.length + value.length)
    expect(sizes.reduce((sum, size) => sum + size)).to.be.below(2_000)
    // A logout has the ID token from there, also one that is too long for an address.
    const { body } = await browser.step(`${setup.url}logout`)
    const hint = /name="id_token_hint" value="([^"]+)"/.exec(body)?.[1] ?? ''
    expect(decodeJwt(hint).name).to.have.length(2_200)
    await until('the record to go', async () => !(await setup.data.records()).has(String(record._id)))
  })

  it('is off with 0: then a logout revokes all the same, and a logout token for one session has others asked about', async () => {
    await setup.restart(NEVER)
    const tokens: string[] = []
    setup.idp.forgeTokens((token) => {
      tokens.push(token)
      return token
    })
    // Nobody listens there.
    await setup.register({
      ...RENEWED,
      backchannel_logout_uri: 'http://127.0.0.1:1/',
      backchannel_logout_session_required: true,
    })
    const person = setup.person()
    const first = await signedIn(setup, person)
    const { sid } = decodeJwt(tokens.at(-1) ?? '')
    const [second, third] = [await signedIn(setup, person), await signedIn(setup, person)]
    const [one, two, three] = [await setup.open(first), await setup.open(second), await setup.open(third)]
    const [asked, revoked] = [questions(), setup.idp.requests('revocation')]
    await third.step(`${setup.url}logout`)
    await closes(three)
    expect([setup.idp.requests('revocation'), questions()]).to.deep.equal([revoked + 1, asked])

    await endAtIdp(second)
    const last = await signedIn(setup, person)
    const stays = await setup.open(last)
    expect(await setup.endSessions({ sub: person.sub, sid })).to.equal(200)
    // The IdP is answered after 4 s at most, whatever it says of the others by then.
    await closes(one, two)
    const states = [await isSignedIn(setup, first), await isSignedIn(setup, second), await isSignedIn(setup, last)]
    expect(states).to.deep.equal([false, false, true])
    expect(stays.isOpen()).to.equal(true)
    expect(await endingsOf(person)).to.have.length(1)
  })
})
