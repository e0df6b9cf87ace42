import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { Endpoint, Fault } from '../../fixtures/idp/faults.ts'
import { linesOf, pluginLines } from './support/auth-log.ts'
import { openControl, openPage } from './support/control-socket.ts'
import { alteredProgram } from './support/data-folder.ts'
import { useLaboratory } from './support/laboratory.ts'
import { answers } from './support/mesh-process.ts'
import { type MeshSetup, setUpMesh } from './support/mesh-setup.ts'
import {
  answerOfIdp,
  authCookieOn,
  isApp,
  isLoginPage,
  messageOn,
  signedIn,
  signIn,
  thiefOf,
} from './support/session.ts'
import { until } from './support/until.ts'

useLaboratory()

describe('MeshCentral beside an IdP that is down, slow or hostile', () => {
  let setup: MeshSetup
  before(async () => {
    setup = await setUpMesh({ domains: { '': { oidc: { groups: { sync: true } } }, second: {} } })
  })
  after(() => setup?.close())
  afterEach(() => setup.idp.faults.clear())

  const answer = (status: number, body: string, headers = {}): Fault => ({ kind: 'answer', status, body, headers })
  const cases: readonly (readonly [what: string, endpoint: Endpoint, fault: Fault])[] = [
    ['resets the connection', 'token', { kind: 'reset' }],
    ['answers 500', 'token', answer(500, 'oops')],
    ['answers no JSON', 'token', answer(200, '<html>hello</html>', { 'content-type': 'text/html' })],
    ['answers JSON that is null', 'token', answer(200, 'null')],
    ['answers a list', 'token', answer(200, '[1,2]')],
    [
      'refuses the client',
      'token',
      answer(401, '{"error":"invalid_client","error_description":"<script>x</script>\\nforged"}'),
    ],
    ['answers without an ID token', 'token', answer(200, '{"access_token":"a","token_type":"Bearer"}')],
    [
      'answers an ID token that is none',
      'token',
      answer(200, '{"access_token":"a","token_type":"Bearer","id_token":"a.b.c"}'),
    ],
    ['redirects', 'token', { kind: 'redirect', to: 'http://127.0.0.1:1/' }],
    ['sends hundreds of megabytes', 'token', { kind: 'huge', bytes: 300_000_000 }],
    ['publishes no keys', 'jwks', answer(200, '{"keys":[]}')],
    ['publishes keys that are none', 'jwks', answer(200, '{"keys":[null,7,{"kty":"RSA"}]}')],
    ['tells of somebody else', 'userinfo', answer(200, '{"sub":"somebody else"}')],
    ['tells of nobody', 'userinfo', answer(403, '')],
  ]
  for (const [what, endpoint, fault] of cases) {
    it(`shows a message, at one log line, where its ${endpoint} endpoint ${what}`, async () => {
      const browser = setup.browser()
      const person = setup.person()
      const address = await answerOfIdp(setup, browser, person)
      if (endpoint === 'jwks') {
        // Those of the login before count for a second.
        const since = performance.now()
        await until('its keys to be old', () => performance.now() - since > 1_000)
      }
      setup.idp.faults.set(endpoint, fault)
      const lines = await linesOf(setup, async () => {
        const page = await browser.get(address)
        expect([page.status, isLoginPage(page)]).to.deep.equal([200, true])
        expect(messageOn(page)).to.be.oneOf([108, 112])
        expect(page.body).not.to.include('<script>x')
      })
      expect(lines.filter((line) => line.includes('login-failed'))).to.have.length(1)
      expect(lines).to.have.length(1)
      expect(await setup.hasAccount(person)).to.equal(false)
      setup.idp.faults.clear()
      await signedIn(setup, person)
    })
  }

  it('goes on serving everybody else while it waits, and waits for 10 seconds at most', async () => {
    const waiting: Promise<{ message: number | null; ms: number }>[] = []
    for (const [endpoint, fault] of [
      ['token', { kind: 'hang' }],
      ['token', { kind: 'drip', everyMs: 100 }],
      ['userinfo', { kind: 'hang' }],
    ] as const) {
      const browser = setup.browser()
      const address = await answerOfIdp(setup, browser, setup.person())
      const before = setup.idp.requests(endpoint)
      setup.idp.faults.set(endpoint, fault, 1)
      const begun = performance.now()
      waiting.push(browser.get(address).then((page) => ({ message: messageOn(page), ms: performance.now() - begun })))
      await until('the request', () => setup.idp.requests(endpoint) > before)
    }
    let answered = 0
    for (const answer of waiting) void answer.then(() => (answered += 1))
    await until('an answer', () => answers(setup.port))
    await signedIn(setup, setup.person())
    expect(answered).to.equal(0)
    for (const { message, ms } of await Promise.all(waiting)) {
      expect(message).to.equal(112)
      expect(ms).to.be.within(5_000, 14_000)
    }
  }).timeout(30_000)

  it('answers requests that make no sense without a stack trace, and lives on', async () => {
    const browser = setup.browser()
    const urlencoded = { 'content-type': 'application/x-www-form-urlencoded' }
    const odd: readonly [
      method: 'GET' | 'POST',
      path: string,
      headers?: Record<string, string>,
      form?: [string, string][],
    ][] = [
      ['GET', 'auth-oidc?return=%E0%A4%A'],
      ['GET', 'auth-oidc?return[a]=b&return=/x'],
      ['GET', 'auth-oidc-callback?state=a&state=b&code[x]=1'],
      ['GET', 'auth-oidc-callback?%E0%A4%A'],
      ['GET', `auth-oidc-callback?code=${'x'.repeat(8_000)}&state=y`],
      ['GET', 'auth-oidc-callback/'],
      ['GET', 'AUTH-OIDC-CALLBACK?code=1'],
      ['POST', 'auth-oidc-callback', { 'content-type': 'application/json' }, [['{', '']]],
      ['POST', 'auth-oidc-callback', { ...urlencoded, 'content-encoding': 'gzip' }, [['a', 'b']]],
      [
        'POST',
        'auth-oidc-callback',
        { 'content-type': 'application/x-www-form-urlencoded; charset=klingon' },
        [['a', 'b']],
      ],
      ['POST', 'auth-oidc-callback', urlencoded, [['state', 'x'.repeat(300_000)]]],
      ['POST', 'auth-oidc-callback', urlencoded, Array.from({ length: 60 }, (_, n) => [`n${n}`, ''])],
      [
        'POST',
        'auth-oidc-callback',
        urlencoded,
        [
          ['__proto__', '1'],
          ['state', '2'],
        ],
      ],
      ['POST', 'auth-oidc-backchannel-logout', { 'content-type': 'text/plain' }, [['logout_token', 'x']]],
      ['POST', 'auth-oidc-backchannel-logout', urlencoded, [['logout_token', 'x'.repeat(20_000)]]],
      ['POST', 'logout', urlencoded, [['a', 'b']]],
      ['GET', 'auth-oidc-jwks'],
    ]
    for (const [method, path, headers = {}, form] of odd) {
      const { status, body } = await browser.step(`${setup.url}${path}`, { method, headers, ...(form ? { form } : {}) })
      expect(status, path.slice(0, 60)).to.be.below(500)
      expect(body, path.slice(0, 60)).not.to.match(/\bat .*\.js:\d+/)
    }
    browser.cookies.store(new URL(setup.url), ['__Host-oidc-key=%E0%A4%A; Path=/; Secure'])
    browser.cookies.store(new URL(setup.url), ['__Host-oidc-return=%00; Path=/; Secure'])
    expect((await browser.step(`${setup.url}auth-oidc`)).status).to.equal(302)
    expect(setup.server().isUp()).to.equal(true)
    await signedIn(setup, setup.person())
  })

  it('writes nothing of the IdP or of a person to its console, where the launcher acts upon phrases', async () => {
    const before = setup.server().output()
    const person = setup.person({ name: 'Server restart...\nStarting self upgrade to: 1.0; reboot' })
    await signedIn(setup, person)
    const browser = setup.browser()
    const { headers } = await browser.step(`${setup.url}auth-oidc`)
    const state = new URL(headers.location ?? '').searchParams.get('state') ?? ''
    const query = new URLSearchParams({ error: 'Server restart...', error_description: 'Server restart...', state })
    await browser.get(`${setup.url}auth-oidc-callback?${query}`)
    expect(setup.server().output()).to.equal(before)
  })
})

describe('an IdP that is down when MeshCentral starts', () => {
  it('is asked again, at one log line each, until it is there', async () => {
    const setup = await setUpMesh()
    try {
      await setup.idp.down()
      await setup.restart()
      const before = (await setup.data.authLog()).length
      const failed = async () =>
        (await setup.data.authLog()).slice(before).filter((line) => line.includes('discovery-failed'))
      for (let visits = 0; visits < 3; visits += 1) {
        const page = await setup.browser().get(`${setup.url}auth-oidc`)
        expect([isLoginPage(page), messageOn(page)]).to.deep.equal([true, 112])
      }
      await until('the line', async () => (await failed()).length > 0)
      await setup.idp.up()
      await signedIn(setup, setup.person())
      expect((await failed()).length).to.be.below(8)
    } finally {
      await setup.close()
    }
  })
})

describe('an IdP that is down when somebody signs out of MeshCentral', () => {
  it('is not where the browser is sent: the login page says that the person may still be signed in there', async () => {
    const setup = await setUpMesh()
    try {
      const browser = await signedIn(setup, setup.person())
      await setup.idp.down()
      // From now on nothing is known of it.
      await setup.restart()
      expect(isApp(await browser.step(setup.url))).to.equal(true)
      const page = await browser.get(`${setup.url}logout`)
      expect(page.url).to.equal(`${setup.url}login`)
      expect(page.text).to.include('You are signed out of this server.')
      expect(page.text).to.include('you may still be signed in there')
      expect(isApp(await browser.step(setup.url))).to.equal(false)
      // Once: then the login page is as it always is.
      expect(isLoginPage(await browser.get(page.links[0]?.href ?? ''))).to.equal(true)
    } finally {
      await setup.close()
    }
  })
})

describe('MeshCentral whose database fails', () => {
  let setup: MeshSetup
  afterEach(() => setup?.close())
  const ours = "(record) => record === 'meshcompanion' || record.type === 'meshcompanion'"

  it('signs nobody in while it cannot tell who has signed out, and lives on', async () => {
    setup = await setUpMesh()
    const person = setup.person()
    const before = await signedIn(setup, person)
    const auth = authCookieOn(await before.step(setup.url)) ?? ''
    const failing = `const { GetAllType } = server.db, isOurs = ${ours};
      server.db.GetAllType = (type, done) => isOurs(type) ? done(new Error('disk')) : GetAllType(type, done)`
    await setup.restart({ program: await alteredProgram(failing) })
    const { status, headers, body } = await before.step(setup.url)
    expect([status, headers['retry-after'], isApp({ body })]).to.deep.equal([503, '5', false])
    const page = await signIn(setup, setup.browser(), person)
    expect([isLoginPage(page), messageOn(page)]).to.deep.equal([true, 112])
    const socket = openControl(setup, { auth })
    const { action } = await socket.message((one) => ['userinfo', 'close'].includes(one.action ?? ''))
    socket.close()
    expect(action).to.equal('close')
    expect((await pluginLines(setup)).some(({ level, line }) => level === 'ERROR' && line.includes('disk'))).to.equal(
      true,
    )
    expect(isLoginPage(await setup.browser().step(`${setup.url}login`))).to.equal(true)
  })

  it('says so at a logout that it cannot remember, and lives on', async () => {
    const failing = `const { Set } = server.db, isOurs = ${ours};
      server.db.Set = (record, done) => isOurs(record) ? done(new Error('disk')) : Set(record, done)`
    setup = await setUpMesh({ program: await alteredProgram(failing) })
    const browser = await signedIn(setup, setup.person())
    const { status, body } = await browser.step(`${setup.url}logout`)
    expect(status).to.equal(500)
    expect(body).to.include('Signing out did not work')
    expect(isApp(await browser.step(setup.url))).to.equal(false)
    expect((await pluginLines(setup)).some(({ event }) => event === 'logout-failed')).to.equal(true)
    await signedIn(setup, setup.person())
  })

  it('closes the pages of sessions that end, though it cannot remember their end', async () => {
    const failing = `const { Set } = server.db, isOurs = ${ours};
      server.db.Set = (record, done) => isOurs(record) ? done(new Error('disk')) : Set(record, done)`
    setup = await setUpMesh({ program: await alteredProgram(failing) })
    const [one, other] = [setup.person(), setup.person()]
    const [own, others] = [await signedIn(setup, one), await signedIn(setup, other)]
    const [ownPage, othersPage] = [await openPage(setup, own), await openPage(setup, others)]
    expect((await own.step(`${setup.url}logout`)).status).to.equal(500)
    await until('the page to be closed', () => !ownPage.isOpen())
    expect(othersPage.isOpen()).to.equal(true)
    const iat = Math.floor(Date.now() / 1000)
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
    const token = await setup.idp.sign(
      { iss: setup.idp.issuer, aud: 'mesh', sub: other.sub, iat, exp: iat + 120, jti: randomUUID(), events },
      { alg: 'RS256', typ: 'logout+jwt' },
    )
    const form = [['logout_token', token]] as const
    const told = await setup.browser().step(`${setup.url}auth-oidc-backchannel-logout`, { form })
    expect(told.status).to.equal(400)
    await until('the page to be closed', () => !othersPage.isOpen())
    expect(isApp(await others.step(setup.url))).to.equal(false)
  })

  it('remembers through a restart what ended while it failed, once it works again', async () => {
    const failing = `const { Set } = server.db, isOurs = ${ours};
      let failed = 0;
      server.db.Set = (record, done) => isOurs(record) && failed++ < 2 ? done(new Error('disk')) : Set(record, done)`
    setup = await setUpMesh({ program: await alteredProgram(failing) })
    const browser = await signedIn(setup, setup.person())
    const copy = thiefOf(setup, browser)
    expect((await browser.step(`${setup.url}logout`)).status).to.equal(500)
    const remembered = async () =>
      [...(await setup.data.records()).values()].filter(({ type }) => type === 'meshcompanion')
    await until('both records', async () => (await remembered()).length === 2)
    await setup.restart()
    expect(isApp(await copy.step(setup.url))).to.equal(false)
    await signedIn(setup, setup.person())
  })
})
