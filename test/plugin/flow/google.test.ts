import { expect } from 'chai'
import { CLIENT as ANY_CLIENT, setups } from '../../support/sign-in-setup.ts'

const CLIENT = { ...ANY_CLIENT, client_id: '12345-abc.apps.googleusercontent.com' }

describe('login with the preset google', () => {
  const start = setups()

  // Shows: plugin 5.12, 8.3.
  it('the preset google needs no issuer, and has its own button and callback path', async () => {
    const { host, browser, signIn } = await start({
      exactly: ({ hostUrl }) => ({
        newAccounts: true,
        custom: { preset: 'google' },
        client: { ...CLIENT, redirect_uri: `${hostUrl}auth-oidc-google-callback` },
      }),
      registered: CLIENT,
      presets: ({ issuer }) => ({ google: { issuer } }),
    })
    const login = await browser().get(`${host.url}login`)
    expect(login.links.map(({ text }) => text)).to.deep.equal(['Sign in with Google'])
    const { page, me } = await signIn()
    expect(me).to.include({ status: 200, id: '~oidc:u-1001', email: 'alice@example.test' })
    expect(page.trail.join()).to.include(`${host.url}auth-oidc-google-callback?`)
  })
})
