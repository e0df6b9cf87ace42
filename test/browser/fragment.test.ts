import { expect } from 'chai'
import { pagesAtHost } from '../support/chromium.ts'
import type { SetupOptions } from '../support/sign-in-setup.ts'

describe('a browser that receives the IdP answer in the URL fragment', () => {
  const pages = pagesAtHost()
  const { open } = pages

  const HYBRID: SetupOptions = {
    client: { response_types: ['code id_token'], response_mode: 'fragment' },
    registered: { response_types: ['code id_token'] },
  }

  it('a user signs in by URL fragment, and the browser history contains no IdP answer', async () => {
    const page = await open(HYBRID)
    const [complaints, posted]: [string[], string[]] = [[], []]
    page.on('console', (line) => complaints.push(line.text()))
    page.on('pageerror', (error) => complaints.push(error.message))
    page.on('request', (request) => {
      const isAnswer =
        request.url().startsWith(`${pages.setup.host.url}auth-oidc-callback`) && request.method() === 'POST'
      if (isAnswer) posted.push(request.url())
    })
    await page.goto(`${pages.setup.host.url}auth-oidc`)
    await page.locator('input[name=username]').fill('alice')
    await page.locator('input[name=password]').fill('alice-demo')
    await page.getByRole('button').first().click()
    await page.waitForURL(pages.setup.host.url)
    expect(complaints).to.deep.equal([])
    expect(posted).to.have.length(1)
    await page.goBack().catch(() => null)
    expect(page.url()).to.not.match(/code=|id_token=|response=/)
  })

  it('the callback page sends nothing without a URL fragment, and offers another login', async () => {
    const page = await open(HYBRID)
    await page.goto(`${pages.setup.host.url}auth-oidc`)
    const posts: string[] = []
    page.on('request', (request) => {
      if (request.method() === 'POST') posts.push(request.url())
    })
    await page.goto(`${pages.setup.host.url}auth-oidc-callback`)
    await page.getByRole('link', { name: 'sign in again' }).click()
    await page.waitForURL(`${pages.setup.host.url}login`)
    expect(posts).to.deep.equal([])
  })

  it('the callback page posts repeated and unusual fields of the fragment unchanged', async () => {
    const page = await open(HYBRID)
    await page.goto(`${pages.setup.host.url}auth-oidc`)
    const fields = 'state=x+y&state=%C3%A9%26&submit=1&action=2&elements=3&append=4'
    const posted = page.waitForRequest((request) => request.method() === 'POST')
    await page.goto(`${pages.setup.host.url}auth-oidc-callback#${fields}`, { waitUntil: 'commit' })
    const request = await posted
    expect(request.postData()).to.equal(fields)
    expect(request.url()).to.equal(`${pages.setup.host.url}auth-oidc-callback`)
    expect(await request.headerValue('content-type')).to.equal('application/x-www-form-urlencoded')
    await page.waitForURL(/\/login\?failure=/)
  })

  it('the callback page says that it needs JavaScript if the browser runs no scripts', async () => {
    const page = await open(HYBRID, false)
    await page.goto(`${pages.setup.host.url}auth-oidc`)
    await page.goto(`${pages.setup.host.url}auth-oidc-callback#code=x`)
    expect((await page.textContent('noscript')) ?? '').to.include('needs JavaScript')
  })
})
