import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { pagesAtHost } from '../support/chromium.ts'
import type { SetupOptions } from '../support/sign-in-setup.ts'

describe('an answer in the fragment, in a real browser', () => {
  const at = pagesAtHost()
  const { open } = at

  /** Signs in at the IdP; addresses that the page then goes through, and what it complains of, are kept. */
  async function signIn(page: Page, start = `${at.setup.host.url}auth-oidc`) {
    const seen = { addresses: [] as string[], complaints: [] as string[], posted: [] as string[] }
    page.on('framenavigated', (frame) => seen.addresses.push(frame.url()))
    page.on('console', (line) => seen.complaints.push(line.text()))
    page.on('pageerror', (error) => seen.complaints.push(error.message))
    page.on('request', (request) => {
      const isAnswer = request.url().startsWith(`${at.setup.host.url}auth-oidc-callback`) && request.method() === 'POST'
      if (isAnswer) seen.posted.push(request.postData() ?? '')
    })
    await page.goto(start)
    await page.locator('input[name=username]').fill('alice')
    await page.locator('input[name=password]').fill('alice-demo')
    await page.getByRole('button').first().click()
    return seen
  }

  const members = (type: string, more: object = {}) => ({
    client: { response_types: [type], response_mode: 'fragment', ...more },
    registered: { response_types: [type] },
  })

  for (const [what, options] of Object.entries<SetupOptions>({
    'an ID token': members('id_token'),
    'a code and an ID token': members('code id_token'),
    'a code alone': members('code'),
    'an answer that is signed as a whole': members('code', { response_mode: 'fragment.jwt' }),
  })) {
    it(`signs in with ${what}, and leaves nothing of it in the history`, async () => {
      const page = await open(options)
      const seen = await signIn(page)
      await page.waitForURL(at.setup.host.url)
      expect(seen.complaints).to.deep.equal([])
      expect(seen.posted).to.have.length(1)
      expect((await page.request.get(`${at.setup.host.url}api/me`)).status()).to.equal(200)
      // Every document that the browser has gone to, as it stood in the address in the end.
      expect(seen.addresses.at(-1)).to.equal(at.setup.host.url)
      await page.goBack().catch(() => null)
      expect(page.url()).to.not.match(/code=|id_token=|response=/)
    })
  }

  it('signs in where it comes in spite of a form that was asked for', async () => {
    const page = await open({
      client: { response_types: ['code id_token'] },
      registered: { response_types: ['code id_token'] },
    })
    const asked = await page.request.get(`${at.setup.host.url}auth-oidc`, { maxRedirects: 0 })
    const address = new URL(asked.headers().location!)
    address.searchParams.set('response_mode', 'fragment')
    const seen = await signIn(page, address.href)
    await page.waitForURL(at.setup.host.url)
    expect(seen.complaints).to.deep.equal([])
  })

  it('says to sign in again where nothing came, and sends nothing', async () => {
    const page = await open(members('code id_token'))
    await page.goto(`${at.setup.host.url}auth-oidc`)
    const posts: string[] = []
    page.on('request', (request) => {
      if (request.method() === 'POST') posts.push(request.url())
    })
    await page.goto(`${at.setup.host.url}auth-oidc-callback`)
    await page.getByRole('link', { name: 'sign in again' }).click()
    await page.waitForURL(`${at.setup.host.url}login`)
    expect(posts).to.deep.equal([])
  })

  it('posts the fields as they came: repeated ones, odd names and odd letters', async () => {
    const page = await open(members('code id_token'))
    await page.goto(`${at.setup.host.url}auth-oidc`)
    const fields = 'state=x+y&state=%C3%A9%26&submit=1&action=2&elements=3&append=4'
    const posted = page.waitForRequest((request) => request.method() === 'POST')
    await page.goto(`${at.setup.host.url}auth-oidc-callback#${fields}`, { waitUntil: 'commit' })
    const request = await posted
    expect(request.postData()).to.equal(fields)
    expect(request.url()).to.equal(`${at.setup.host.url}auth-oidc-callback`)
    expect(await request.headerValue('content-type')).to.equal('application/x-www-form-urlencoded')
    await page.waitForURL(/\/login\?failure=/)
  })

  it('reads what to do without JavaScript', async () => {
    const page = await open(members('code id_token'), false)
    await page.goto(`${at.setup.host.url}auth-oidc`)
    await page.goto(`${at.setup.host.url}auth-oidc-callback#code=x`)
    expect((await page.textContent('noscript')) ?? '').to.include('needs JavaScript')
  })
})
