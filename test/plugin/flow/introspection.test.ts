import { expect } from 'chai'
import type { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { type Setup, type SetupOptions, setUp } from '../../support/sign-in-setup.ts'

describe('asking the IdP about a session', () => {
  const open: Setup[] = []
  const start = async (options?: SetupOptions) => {
    const setup = await setUp(options)
    open.push(setup)
    return setup
  }
  afterEach(async () => {
    for (const setup of open.splice(0)) await setup.close()
  })
  const signedIn = async (setup: Setup) => {
    const person = setup.browser()
    await person.login(setup.host.url, 'alice', 'alice-demo')
    return person
  }
  const stateOf = async (setup: Setup, person: ScriptedBrowser) =>
    JSON.parse((await person.step(`${setup.host.url}api/session`)).body).state as string
  const failures = (setup: Setup) => setup.authLog.filter(({ event }) => event === 'introspection-failed')
  const withTokens = (setup: Setup, changes: object) =>
    setup.idp.faults.set('token', { kind: 'rewrite', body: (original) => ({ ...(original as object), ...changes }) })

  it('says that it goes on, and asks once in 10 s for each session', async () => {
    const setup = await start()
    const [person, other] = [await signedIn(setup), await signedIn(setup)]
    const answers = await Promise.all([1, 2, 3].map(() => stateOf(setup, person)))
    expect([...answers, await stateOf(setup, person)]).to.deep.equal(Array(4).fill('active'))
    expect(setup.idp.requests('introspection')).to.equal(1)
    expect(await stateOf(setup, other)).to.equal('active')
    expect(setup.idp.requests('introspection')).to.equal(2)
  })

  it('says that it has ended once the person signed out there, though nobody told this server', async () => {
    const setup = await start()
    const person = await signedIn(setup)
    const page = await person.get(`${setup.idp.issuer}/session/end`)
    await person.submit(page.forms[0]!, {}, 'Yes, sign me out')
    expect(await stateOf(setup, person)).to.equal('ended')
  })

  it('says that it has ended where nobody is signed in', async () => {
    const setup = await start()
    expect(await stateOf(setup, setup.browser())).to.equal('ended')
    expect(setup.idp.requests('introspection')).to.equal(0)
  })

  it('says that nobody knows when the IdP does not accept how this server authenticates, and the log says what to check', async () => {
    const setup = await start({ client: { introspection_endpoint_auth_method: 'none' } })
    expect(await stateOf(setup, await signedIn(setup))).to.equal('unknown')
    expect(failures(setup)[0]?.fields).to.include({ code: 'introspection_failed', error: 'invalid_client' })
  })

  it('says that it goes on while the access token does, though the IdP does not know the refresh token', async () => {
    const setup = await start()
    withTokens(setup, { refresh_token: 'a refresh token that the IdP does not know' })
    expect(await stateOf(setup, await signedIn(setup))).to.equal('active')
  })

  it('says that it has ended once the person signed out there, where there is a refresh token too', async () => {
    const setup = await start()
    withTokens(setup, { refresh_token: 'a refresh token that the IdP does not know any more' })
    const person = await signedIn(setup)
    const page = await person.get(`${setup.idp.issuer}/session/end`)
    await person.submit(page.forms[0]!, {}, 'Yes, sign me out')
    expect(await stateOf(setup, person)).to.equal('ended')
  })

  it('asks about the refresh token once the other has run out', async () => {
    const setup = await start()
    withTokens(setup, { refresh_token: 'a refresh token that the IdP does not know any more', expires_in: 0 })
    expect(await stateOf(setup, await signedIn(setup))).to.equal('ended')
    expect(setup.idp.requests('introspection')).to.equal(1)
  })

  for (const [what, fault] of [
    ['is away', { kind: 'reset' }],
    ['fails', { kind: 'answer', status: 500, body: '{"error":"server_error"}' }],
    ['answers nonsense', { kind: 'answer', status: 200, body: '{"active":"yes"}' }],
    ['answers without a word on the token', { kind: 'answer', status: 200, body: '{"error":"invalid_client"}' }],
    ['calls the token inactive with another status', { kind: 'answer', status: 202, body: '{"active":false}' }],
    ['refuses the question', { kind: 'answer', status: 403, body: '{"active":false}' }],
    // What authentik answers when the authentication fails.
    [
      'calls a token inactive that its UserInfo endpoint takes',
      { kind: 'answer', status: 200, body: '{"active":false}' },
    ],
    ['says nothing of use', { kind: 'answer', status: 200, body: '<html>' }],
  ] as const) {
    it(`says that nobody knows while the IdP ${what}, with one line that says why`, async () => {
      const setup = await start()
      const person = await signedIn(setup)
      setup.idp.faults.set('introspection', fault)
      expect(await stateOf(setup, person)).to.equal('unknown')
      expect(failures(setup)).to.have.length(1)
      expect(failures(setup)[0]?.fields.code).to.match(/^(introspection_failed|provider_unreachable)$/)
      expect(JSON.stringify([setup.authLog, setup.output])).to.not.match(/access_token"|eyJ/)
    })
  }

  it('believes an IdP that called a token active before, and then asks nowhere else', async () => {
    const setup = await start()
    const [first, second] = [await signedIn(setup), await signedIn(setup)]
    expect(await stateOf(setup, first)).to.equal('active')
    setup.idp.faults.set('introspection', { kind: 'answer', status: 200, body: '{"active":false}' })
    const asked = setup.idp.requests('userinfo')
    expect(await stateOf(setup, second)).to.equal('ended')
    expect(setup.idp.requests('userinfo')).to.equal(asked)
  })

  it('says that nobody knows when an error stands beside the word that a token is inactive', async () => {
    const setup = await start()
    const [first, second] = [await signedIn(setup), await signedIn(setup)]
    expect(await stateOf(setup, first)).to.equal('active')
    const body = '{"active":false,"error":"invalid_client"}'
    setup.idp.faults.set('introspection', { kind: 'answer', status: 200, body })
    expect(await stateOf(setup, second)).to.equal('unknown')
  })

  it('says that nobody knows when a token is called inactive and the UserInfo endpoint gives no answer of use', async () => {
    const setup = await start()
    const person = await signedIn(setup)
    setup.idp.faults.set('introspection', { kind: 'answer', status: 200, body: '{"active":false}' })
    setup.idp.faults.set('userinfo', { kind: 'answer', status: 503 })
    expect(await stateOf(setup, person)).to.equal('unknown')
  })

  it('says that nobody knows when the only token has run out, and does not ask', async () => {
    const setup = await start()
    withTokens(setup, { expires_in: 0 })
    expect(await stateOf(setup, await signedIn(setup))).to.equal('unknown')
    expect(setup.idp.requests('introspection')).to.equal(0)
    expect(failures(setup)).to.deep.equal([])
  })

  it('says that nobody knows when the login brought no token to ask about', async () => {
    const setup = await start({
      client: { response_types: 'id_token' },
      registered: { response_types: ['id_token'], grant_types: ['implicit'] },
    })
    expect(await stateOf(setup, await signedIn(setup))).to.equal('unknown')
  })
})
