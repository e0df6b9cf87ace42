import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { pagesAtHost, takePicture } from '../support/chromium.ts'

describe('login and logout in a real browser', () => {
  const pages = pagesAtHost()
  const { open } = pages

  async function signInAtIdp(page: Page, user: string): Promise<void> {
    await page
      .getByLabel(/user|name/i)
      .first()
      .fill(user)
    await page.getByLabel(/password/i).fill(`${user}-demo`)
    await page.getByRole('button').first().click()
  }

  it('a user signs in and out without JavaScript', async () => {
    const page = await open({ oidc: { newAccounts: true, groups: { siteadmin: 'mesh-admins', sync: true } } }, false)
    await page.goto(pages.setup.host.url)
    await takePicture(page, 'login')
    await page.getByRole('link', { name: /^Sign in with/ }).click()
    await takePicture(page, 'identity-provider')
    await signInAtIdp(page, 'alice')
    await page.waitForURL(pages.setup.host.url)
    await takePicture(page, 'signed-in')
    const text = await page.getByRole('main').textContent()
    for (const part of ['Alice Example', 'alice@example.test', 'mesh-admins', 'mesh-users'])
      expect(text).to.include(part)

    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: /^Yes/ }).click()
    await page.waitForURL((url) => url.href.startsWith(`${pages.setup.host.url}login`))
    await page.goto(pages.setup.host.url)
    expect(page.url()).to.equal(`${pages.setup.host.url}login`)
  })

  for (const javaScript of [true, false]) {
    const condition = javaScript ? 'with JavaScript' : 'without JavaScript'
    it(`a user with a long ID token signs out ${condition}`, async () => {
      const page = await open(
        {
          idp: { scopes: { large: ['large'] } },
          oidc: { newAccounts: true, custom: { scope: 'openid large' } },
        },
        javaScript,
      )
      pages.setup.idp.setUser({
        username: 'bob',
        password: 'bob-demo',
        sub: 'u-2000',
        claims: { large: 'x'.repeat(4096) },
      })
      await page.goto(`${pages.setup.host.url}auth-oidc`)
      await signInAtIdp(page, 'bob')
      await page.waitForURL(pages.setup.host.url)
      await page.getByRole('button', { name: 'Sign out' }).click()
      if (!javaScript) await page.getByRole('button', { name: 'Continue' }).click()
      await page.getByRole('button', { name: /^Yes/ }).click()
      await page.waitForURL((url) => url.href.startsWith(`${pages.setup.host.url}login`))
      await page.goto(`${pages.setup.host.url}auth-oidc`)
      expect(await page.getByLabel(/password/i).count()).to.equal(1)
    })
  }
})
