import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { pluginLines } from './support/auth-log.ts'
import { type ControlSocket, openPage } from './support/control-socket.ts'
import { useLaboratory } from './support/laboratory.ts'
import { type MeshSetup, type Person, setUpMesh } from './support/mesh-setup.ts'
import { isSignedIn, sessionOf, signedIn } from './support/session.ts'
import { until } from './support/until.ts'

useLaboratory()

const BACKCHANNEL = 'auth-oidc-backchannel-logout'
/** Rounds of introspection, about one a second. */
const OFTEN = { plugins: { enabled: true, list: ['meshcompanion'], meshcompanion: { introspectMinutes: 0.015 } } }
const NEVER = { plugins: { enabled: true, list: ['meshcompanion'], meshcompanion: { introspectMinutes: 0 } } }

describe('introspection of the sessions in MeshCentral', () => {
  let setup: MeshSetup
  const pages: ControlSocket[] = []
  before(async () => {
    setup = await setUpMesh({ settings: OFTEN })
  })
  after(() => setup?.close())
  afterEach(async () => {
    for (const page of pages.splice(0)) page.close()
    setup.idp.forgeTokens()
    setup.idp.faults.clear('introspection')
  })

  const open = async (browser: ScriptedBrowser) => {
    const page = await openPage(setup, browser)
    pages.push(page)
    return page
  }
  const questions = () => setup.idp.requests('introspection')
  /** Until the IdP was asked once more. */
  const nextQuestion = async (more = 1) => {
    const before = questions()
    await until('a question', () => questions() >= before + more)
  }
  const linesOf = async (event: string) => (await pluginLines(setup)).filter((line) => line.event === event)
  /** What an administrator does who lets somebody go: no logout token is sent. */
  const endAtIdp = async (browser: ScriptedBrowser) => {
    const asked = await browser.get(`${setup.idp.issuer}/session/end`)
    await browser.submit(asked.forms[0] as NonNullable<(typeof asked.forms)[0]>, {}, 'Yes, sign me out')
  }
  const tokenRecords = async () =>
    [...(await setup.data.records()).values()].filter(({ type }) => type === 'meshcompaniontokens')
  const settings = (own: object) => ({ settings: own as Readonly<Record<string, unknown>> })

  it('ends one that is over at the IdP, its open pages with it, and no other', async () => {
    const [person, other] = [setup.person(), setup.person()]
    const [browser, elsewhere] = [await signedIn(setup, person), await signedIn(setup, person)]
    const [page, bystander] = [await open(browser), await open(await signedIn(setup, other))]
    await endAtIdp(browser)
    await until('the server to close the socket', () => !page.isOpen())
    expect(await isSignedIn(setup, browser)).to.equal(false)
    await nextQuestion(2)
    expect(await isSignedIn(setup, elsewhere)).to.equal(true)
    expect(bystander.isOpen()).to.equal(true)
    const lines = await until('the line', async () => {
      const found = await linesOf('session-ended')
      return found.length > 0 && found
    })
    expect(lines.map(({ level, fields }) => ({ level, fields }))).to.deep.equal([
      { level: 'INFO', fields: { user: `~oidc:${person.sub}` } },
    ])
  })

  it('goes on after a restart with the tokens of before', async () => {
    const before = (await tokenRecords()).length
    const browser = await signedIn(setup, setup.person())
    await until('the tokens to be written', async () => (await tokenRecords()).length > before)
    await setup.restart()
    expect(await isSignedIn(setup, browser)).to.equal(true)
    const page = await open(browser)
    await nextQuestion()
    expect(page.isOpen()).to.equal(true)
    await endAtIdp(browser)
    await until('the server to close the socket', () => !page.isOpen())
  })

  for (const [what, fault] of [
    ['fails', { kind: 'answer', status: 500, body: '{"error":"server_error"}' }],
    ['refuses the question', { kind: 'answer', status: 401, body: '{"error":"invalid_client"}' }],
    ['is away', { kind: 'reset' }],
  ] as const) {
    it(`ends nothing where the IdP ${what}, and says so once a round for all of them`, async () => {
      const opened = [
        await open(await signedIn(setup, setup.person())),
        await open(await signedIn(setup, setup.person())),
        await open(await signedIn(setup, setup.person())),
      ]
      const before = (await linesOf('introspection-failed')).length
      const asked = questions()
      setup.idp.faults.set('introspection', fault)
      const lines = await until('a line', async () => {
        const found = (await linesOf('introspection-failed')).slice(before)
        return found.length > 1 && found
      })
      const questionsMeanwhile = questions() - asked
      setup.idp.faults.clear('introspection')
      expect(lines.length).to.be.at.most(questionsMeanwhile / 3 + 1)
      expect(lines[0]?.fields).to.have.property('code')
      for (const page of opened) expect(page.isOpen()).to.equal(true)
    })
  }

  it('keeps no token in the cookie, none that can be read in the database, and none once the session is over', async () => {
    await setup.restart()
    const before = (await tokenRecords()).map(({ _id }) => _id)
    const browser = await signedIn(setup, setup.person())
    const record = await until('the record', async () =>
      (await tokenRecords()).find(({ _id }) => !before.includes(_id)),
    )
    const { oidcSignIn } = sessionOf(browser, setup.url)
    const { handle } = oidcSignIn as { handle: string }
    expect(JSON.stringify(oidcSignIn)).not.to.match(/access|refresh|eyJ/)
    expect(JSON.stringify(record)).not.to.match(/access|refresh|eyJ/)
    expect(JSON.stringify(record)).not.to.include(handle)
    await browser.step(`${setup.url}logout`)
    await until('the record to go', async () => (await tokenRecords()).every(({ _id }) => _id !== record._id))
  })

  it('is off with introspectMinutes 0, and a logout revokes the access token all the same', async () => {
    await setup.restart(settings(NEVER))
    const browser = await signedIn(setup, setup.person())
    await open(browser)
    const [asked, revoked] = [questions(), setup.idp.requests('revocation')]
    await browser.step(`${setup.url}logout`)
    expect(setup.idp.requests('revocation')).to.equal(revoked + 1)
    expect(questions()).to.equal(asked)
    await setup.restart(settings(OFTEN))
  })

  it('leaves a logout the ID token, which no cookie holds, also one that is too long for an address', async () => {
    const browser = await signedIn(setup, setup.person({ name: 'n'.repeat(2_200) }))
    const sizes = browser.cookies.matching(new URL(setup.url)).map(({ name, value }) => name.length + value.length)
    expect(sizes.reduce((sum, size) => sum + size)).to.be.below(2_000)
    const { body } = await browser.step(`${setup.url}logout`)
    const hint = /name="id_token_hint" value="([^"]+)"/.exec(body)?.[1] ?? ''
    expect(decodeJwt(hint).name).to.have.length(2_200)
  })

  it('asks about the other sessions of a person at a logout token for one of them', async () => {
    await setup.restart(settings(NEVER))
    const tokens: string[] = []
    setup.idp.forgeTokens((token) => {
      tokens.push(token)
      return token
    })
    await setup.register({
      // Nobody listens there.
      backchannel_logout_uri: 'http://127.0.0.1:1/',
      backchannel_logout_session_required: true,
    })
    const person: Person = setup.person()
    const first = await signedIn(setup, person)
    const { sid } = decodeJwt(tokens.at(-1) ?? '')
    const [second, third] = [await signedIn(setup, person), await signedIn(setup, person)]
    const opened = [await open(first), await open(second), await open(third)]
    await endAtIdp(second)
    const now = Math.floor(Date.now() / 1000)
    const token = await setup.idp.sign(
      {
        iss: setup.idp.issuer,
        aud: 'mesh',
        sub: person.sub,
        sid,
        iat: now,
        exp: now + 120,
        jti: randomUUID(),
        events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
      },
      { alg: 'RS256', typ: 'logout+jwt' },
    )
    const told = await setup.browser().step(`${setup.url}${BACKCHANNEL}`, { form: [['logout_token', token]] })
    expect(told.status).to.equal(200)
    const states = [await isSignedIn(setup, first), await isSignedIn(setup, second), await isSignedIn(setup, third)]
    expect(states).to.deep.equal([false, false, true])
    await until('the pages to be closed', () => !opened[0]?.isOpen() && !opened[1]?.isOpen())
    expect(opened[2]?.isOpen()).to.equal(true)
    expect((await linesOf('other-sessions-ended')).map(({ fields }) => fields)).to.deep.equal([
      { subject: person.sub, sessions: 1 },
    ])
    await setup.restart(settings(OFTEN))
    await setup.register({})
  })

  it('is every five minutes where introspectMinutes is of no use, and the log says what it has to be', async () => {
    const own = { enabled: true, list: ['meshcompanion'], meshcompanion: { introspectMinutes: '5' } }
    await setup.restart(settings({ plugins: own }))
    const lines = await until('the line', async () => {
      const found = (await setup.data.authLog()).filter((line) => line.includes('introspectMinutes'))
      return found.length > 0 && found
    })
    expect(lines.at(-1)).to.match(/ERROR configuration-error: .*introspectMinutes has to be .* counts as 5\./)
  })
})
