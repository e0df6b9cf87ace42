import { expect } from 'chai'
import { JUMPCLOUD } from '../../../fixtures/idp/documented/jumpcloud.ts'
import { documentedSetups, SERVER } from '../../support/documented-setup.ts'
import { itFollowsItsPage, withGroups } from './page.contract.ts'

const PAGE = 'jumpcloud.md'

describe('JumpCloud simulated from its documentation', () => {
  itFollowsItsPage({
    page: PAGE,
    provider: JUMPCLOUD,
    knownAs: 'JumpCloud',
    signOut: {
      title: 'logout at JumpCloud ends only our session, and returns to the login page',
      landing: `${SERVER}login`,
      asksAgain: false,
    },
    mistakes: [
      {
        title: 'the issuer is the address of the console',
        oidc: (oidc) => ({ ...oidc, issuer: 'https://console.jumpcloud.com/' }),
        line: /^fail: .*"https:\/\/oauth\.id\.jumpcloud\.com\/" in `issuer`/,
      },
      {
        title: 'the issuer with a path',
        oidc: (oidc) => ({ ...oidc, issuer: 'https://oauth.id.jumpcloud.com/oauth2' }),
        line: /^fail: .*one issuer/,
      },
      { title: 'the scope groups', oidc: withGroups({ scope: 'groups' }), line: /^warn: .*Set `groups\.scope` to ""/ },
      {
        title: 'a scope that JumpCloud does not list',
        oidc: (oidc) => ({ ...oidc, custom: { scope: 'openid profile email phone' } }),
        line: /^warn: .*may fail: phone\. Remove/,
      },
      {
        title: 'no logouturl',
        oidc: ({ logouturl: _url, ...oidc }) => oidc,
        line: /^warn: .*set `logouturl` to "https:\/\/mesh\.example\.org\/login"/,
      },
    ],
  })

  const start = documentedSetups(PAGE, JUMPCLOUD)

  it('a login with the scope groups fails, because JumpCloud rejects this scope', async () => {
    const { signIn } = await start({ oidc: withGroups({ scope: 'groups' }) })
    expect((await signIn('alice')).failure).to.include({ code: 'scope_refused' })
  })

  it('logout ends on an error of JumpCloud if `logouturl` is missing', async () => {
    const { signIn, signOut } = await start({ oidc: ({ logouturl: _url, ...oidc }) => oidc })
    const page = await signOut((await signIn('bob')).person)
    expect(new URL(page.url).pathname).to.equal('/oauth2/sessions/logout')
    expect(page.status).to.equal(400)
  })
})
