import { expect } from 'chai'
import { COGNITO } from '../../../fixtures/idp/documented/cognito.ts'
import { documentedSetups } from '../../support/documented-setup.ts'
import { itFollowsItsPage, itNeedsNoUserInfo, type PageCase, withGroups } from './page.contract.ts'

const DOMAIN = 'https://example.auth.eu-central-1.amazoncognito.com'
const LOGOUT = `${DOMAIN}/logout?client_id=1example23456789&logout_uri=https%3A%2F%2Fmesh.example.org%2Flogin`

const PAGE_CASE: PageCase = {
  page: 'cognito.md',
  provider: COGNITO,
  knownAs: 'Amazon Cognito',
  mistakes: [
    {
      title: 'the issuer is the domain of the login pages',
      oidc: (oidc) => ({ ...oidc, issuer: DOMAIN }),
      line: /^fail: .*cognito-idp\.<region>\.amazonaws\.com/,
    },
    {
      title: 'the user pool has no domain',
      oidc: ({ issuer, ...oidc }) => ({
        ...oidc,
        issuer: { issuer, authorization_endpoint: `${issuer}/authorize` },
      }),
      line: /^fail: .*no login page/,
    },
    { title: 'the scope groups', oidc: withGroups({ scope: 'groups' }), line: /^fail: .*Set `groups\.scope` to ""/ },
    {
      title: 'the scope offline_access',
      oidc: (oidc) => ({ ...oidc, custom: { scope: 'openid profile email offline_access' } }),
      line: /^fail: .*Remove `offline_access`/,
    },
    { title: 'the claim groups', oidc: withGroups({ claim: 'groups' }), line: /^warn: .*"cognito:groups"/ },
    {
      title: 'no logouturl',
      oidc: ({ logouturl: _url, ...oidc }) => oidc,
      line: new RegExp(`^warn: .*${LOGOUT.replaceAll('?', '\\?')}`),
    },
    {
      title: 'a logouturl without logout_uri',
      oidc: (oidc) => ({ ...oidc, logouturl: `${DOMAIN}/logout?client_id=1example23456789` }),
      line: /^warn: .*lacks this client's `client_id` or `logout_uri`/,
    },
  ],
}

describe('Amazon Cognito simulated from its documentation', () => {
  itFollowsItsPage(PAGE_CASE)
  itNeedsNoUserInfo(PAGE_CASE)

  const start = documentedSetups('cognito.md', COGNITO)

  it('logout ends on an error page of Cognito if `logouturl` is missing', async () => {
    const { signIn, signOut } = await start({ oidc: ({ logouturl: _url, ...oidc }) => oidc })
    const page = await signOut((await signIn('bob')).person)
    expect(new URL(page.url).pathname).to.equal('/logout')
    expect(page.status).to.equal(400)
  })

  it('a login with the scope groups fails, because Cognito rejects this scope', async () => {
    const { signIn } = await start({ oidc: withGroups({ scope: 'groups' }) })
    expect((await signIn('alice')).failure).to.include({ code: 'scope_refused' })
  })
})
