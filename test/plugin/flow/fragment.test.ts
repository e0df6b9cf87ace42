import { createHash } from 'node:crypto'
import { expect } from 'chai'
import type { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { answerFromIdp, setups } from '../../support/sign-in-setup.ts'

const ANSWERS = { response_types: ['code id_token'] }

describe('IdP answer in the URL fragment', () => {
  const start = setups()

  const inFragment = (members: Record<string, unknown> = ANSWERS) =>
    start({ client: { ...members, response_mode: 'fragment' }, registered: { ...ANSWERS, ...members } })

  /**
   * Opens the address without its fragment, as browsers do, and returns a function that posts the fragment as the
   * page's script does.
   */
  async function arrive(person: ScriptedBrowser, address: string) {
    const url = new URL(address)
    const fragment = new URLSearchParams(url.hash.slice(1))
    url.hash = ''
    const page = await person.step(url.href)
    return { page, post: () => person.step(url.href, { form: [...fragment] }), fragment }
  }

  for (const responseType of ['id_token', 'code id_token', 'code']) {
    // Shows: plugin 4.24.
    it(`signs in if the IdP's answer is in the URL fragment (${responseType})`, async () => {
      const { host, browser, isIn, output, authLog } = await inFragment({ response_types: [responseType] })
      const person = browser()
      const { page, post, fragment } = await arrive(person, await answerFromIdp(person, host.url, 'alice'))
      expect(fragment.get('state')).to.match(/./)
      expect(page.status).to.equal(200)
      expect((await post()).headers.location).to.equal('/')
      expect(await isIn(person)).to.equal(true)
      const logged = JSON.stringify([output, authLog])
      for (const name of ['state', 'code', 'id_token']) expect(logged).to.not.include(fragment.get(name) ?? ' no such ')
    })
  }

  // Shows: plugin 9.17.
  it('the page that posts the URL fragment is not cached and runs only its own script', async () => {
    const { host, browser } = await inFragment()
    const person = browser()
    const { page } = await arrive(person, await answerFromIdp(person, host.url, 'alice'))
    const [, script = ''] = /<script>([\s\S]*)<\/script>/.exec(page.body) ?? []
    const hash = createHash('sha256').update(script).digest('base64')
    expect(page.headers['content-security-policy']).to.equal(
      `default-src 'none'; script-src 'sha256-${hash}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
    )
    expect(page.headers).to.include({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
    expect(page.headers['content-type']).to.match(/^text\/html/)
    expect(script.indexOf('replaceState')).to.be.within(0, script.indexOf('createElement'))
    expect(page.body.match(/<noscript>[^<]+<\/noscript>/g)).to.have.length(1)
  })

  // Shows: plugin 9.17.
  it('accepts an IdP answer in the URL fragment even if form_post was requested', async () => {
    const { host, browser, redirectFrom } = await start({ client: ANSWERS, registered: ANSWERS })
    const person = browser()
    const address = await redirectFrom('auth-oidc', person)
    expect(address.searchParams.get('response_mode')).to.equal('form_post')
    address.searchParams.set('response_mode', 'fragment')
    const { page, post } = await arrive(person, await answerFromIdp(person, host.url, 'alice', address.href))
    expect(page.status).to.equal(200)
    expect((await post()).headers.location).to.equal('/')
  })

  it('the callback answers 404 if there is no pending login or no IdP answer', async () => {
    const { host, browser, authLog } = await inFragment()
    const callback = `${host.url}auth-oidc-callback?x=1`
    const person = browser()
    expect((await person.step(callback)).status).to.equal(404)
    await person.step(`${host.url}auth-oidc`)
    expect((await person.step(callback)).status).to.equal(200)
    expect((await person.step(callback, { form: [['id_token', 'e30.e30.x']] })).status).to.equal(404)
    expect(authLog).to.deep.equal([])
  })
})
