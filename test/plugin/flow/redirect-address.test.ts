import { expect } from 'chai'
import { CLIENT, setups, whoAmI } from '../../support/sign-in-setup.ts'

describe('login with any path in redirect_uri', () => {
  const start = setups()

  for (const path of ['auth-oidc-callback', 'signin/oidc', 'a(b)+c.*/cb', 'cb?of=idp']) {
    // Shows: plugin 4.4, 8.1.
    it(`a login works with any path in redirect_uri: ${path}`, async () => {
      const setup = await start({
        exactly: ({ idp, hostUrl }) => ({
          issuer: idp.issuer,
          newAccounts: true,
          client: { ...CLIENT, redirect_uri: hostUrl + path },
        }),
      })
      const { host, idp, browser } = setup
      await idp.addClient({ ...CLIENT, redirect_uris: [host.url + path] })
      const person = browser()
      const page = await person.login(host.url, 'alice', 'alice-demo')
      expect(page.url, page.text).to.equal(host.url)
      expect(page.trail.some((address) => address.startsWith(host.url + path))).to.equal(true)
      expect((await whoAmI(person, host.url)).status).to.equal(200)
    })
  }
})
