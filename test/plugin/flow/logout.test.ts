import { expect } from 'chai'
import { type Setup, type SetupOptions, setUp, whoAmI } from '../../support/sign-in-setup.ts'

describe('a logout', () => {
  const open: Setup[] = []
  const start = async (options?: SetupOptions) => {
    const setup = await setUp(options)
    open.push(setup)
    const person = setup.browser()
    await person.login(setup.host.url, 'alice', 'alice-demo')
    return { ...setup, person }
  }
  afterEach(async () => {
    for (const setup of open.splice(0)) await setup.close()
  })

  it('ends the session here, then sends the browser to the IdP with a hint of who it was and where to come back to', async () => {
    const { host, idp, person } = await start()
    const { headers, status } = await person.step(`${host.url}logout`)
    expect(status).to.equal(302)
    const url = new URL(headers.location!)
    expect(url.origin + url.pathname).to.equal(`${idp.issuer}/session/end`)
    expect(url.searchParams.get('id_token_hint')).to.match(/^eyJ/)
    expect(url.searchParams.get('client_id')).to.equal('mesh')
    expect(url.searchParams.get('post_logout_redirect_uri')).to.equal(`${host.url}login`)
    expect((await whoAmI(person, host.url)).status).to.equal(401)
  })

  it('ends the session at the IdP and comes back to the login page: the next login asks for the password', async () => {
    const { host, person } = await start()
    const [form] = (await person.get(host.url)).forms
    const question = await person.submit(form!)
    const page = await person.submit(question.forms[0]!, {}, 'Yes, sign me out')
    expect(page.url).to.equal(`${host.url}login`)
    const next = await person.get(`${host.url}auth-oidc`)
    expect(next.forms[0]?.fields.map(([name]) => name)).to.include('password')
  })

  it('makes a copy of the old session cookie worthless', async () => {
    const { host, person, browser } = await start()
    const cookie = person.cookies.header(new URL(host.url))!
    await person.step(`${host.url}logout`, { method: 'POST' })
    expect((await browser().step(`${host.url}api/me`, { headers: { cookie } })).status).to.equal(401)
  })

  it('sends no address to come back to when post_logout_redirect_uri is false', async () => {
    const { host, person } = await start({ client: { post_logout_redirect_uri: false } })
    const url = new URL((await person.step(`${host.url}logout`)).headers.location!)
    expect(url.searchParams.has('post_logout_redirect_uri')).to.equal(false)
    expect(url.searchParams.has('id_token_hint')).to.equal(true)
  })

  it('goes to logouturl as it is written, where there is one', async () => {
    const logouturl = 'https://idp.test/bye?x=1&TargetResource=https%3A%2F%2Fmesh.test%2Flogin'
    const { host, person } = await start({ oidc: { newAccounts: true, logouturl } })
    expect((await person.step(`${host.url}logout`)).headers.location).to.equal(logouturl)
  })

  it('of nobody leads to the login page', async () => {
    const { host, browser } = await start()
    expect((await browser().step(`${host.url}logout`)).headers.location).to.equal('/login')
  })

  it('ends the session here even when the IdP is away', async () => {
    const { host, idp, person } = await start()
    await idp.down()
    const { status } = await person.step(`${host.url}logout`)
    expect(status).to.equal(302)
    expect((await whoAmI(person, host.url)).status).to.equal(401)
  })
})
