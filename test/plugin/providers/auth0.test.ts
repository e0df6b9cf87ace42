import { expect } from 'chai'
import { AUTH0 } from '../../../fixtures/idp/documented/auth0.ts'
import { documentedSetups, SERVER } from '../../support/documented-setup.ts'
import { itFollowsItsPage, itNeedsNoUserInfo, type PageCase, withGroups } from './page.contract.ts'

const PAGE = 'auth0.md'
const LOGOUT = 'https://example.eu.auth0.com/v2/logout?client_id=mesh&returnTo=https%3A%2F%2Fmesh.example.org%2Flogin'
const { end_session_endpoint: _endpoint, ...WITHOUT_LOGOUT } = AUTH0.discovery

const PAGE_CASE: PageCase = {
  page: PAGE,
  provider: AUTH0,
  knownAs: 'Auth0',
  mistakes: [
    { title: 'the claim groups', oidc: withGroups({ claim: 'groups' }), line: /^warn: .*Auth0 reserves the claim/ },
    {
      title: 'a logouturl without returnTo',
      oidc: (oidc) => ({ ...oidc, logouturl: 'https://example.eu.auth0.com/v2/logout?client_id=mesh' }),
      line: /^warn: .*`client_id` or `returnTo`/,
    },
  ],
}

describe('Auth0 simulated from its documentation', () => {
  itFollowsItsPage(PAGE_CASE)
  itNeedsNoUserInfo(PAGE_CASE)

  describe('Auth0 without the setting that publishes its logout endpoint', () => {
    const start = documentedSetups(PAGE, { ...AUTH0, discovery: WITHOUT_LOGOUT })

    // Shows: plugin 9.49.
    it('--live suggests two remedies if Auth0 publishes no logout endpoint', async () => {
      const { checkLive } = await start()
      const line = (await checkLive()).lines.find((candidate) => candidate.includes(': provider: '))
      expect(line)
        .to.match(/^warn: provider: Auth0: .*Turn on "RP-Initiated Logout/)
        .and.contain(`"${LOGOUT}"`)
    })

    it("logouturl signs out at Auth0's /v2/logout if Auth0 publishes no logout endpoint", async () => {
      const { signIn, signOut } = await start({ oidc: (oidc) => ({ ...oidc, logouturl: LOGOUT }) })
      const { person } = await signIn('bob')
      expect((await signOut(person)).url).to.equal(`${SERVER}login`)
      const next = await person.get(`${SERVER}auth-oidc`)
      expect(next.forms[0]?.fields.map(([name]) => name)).to.include('password')
    })

    it('a logout keeps the Auth0 session if there is no logout endpoint and no logouturl', async () => {
      const { signIn, signOut } = await start()
      const { person } = await signIn('bob')
      expect((await signOut(person)).url.split('?')[0]).to.equal(`${SERVER}login`)
      expect((await person.get(`${SERVER}auth-oidc`)).url).to.equal(SERVER)
    })
  })

  describe('Auth0 at a custom domain', () => {
    const renamed = JSON.stringify(AUTH0.discovery).replaceAll('example.eu.auth0.com', 'login.example.org')
    const start = documentedSetups(PAGE, { ...AUTH0, discovery: JSON.parse(renamed) })

    // Shows: plugin 9.49.
    it('--live recognizes Auth0 at a custom domain by its metadata', async () => {
      const { checkLive } = await start()
      const { lines } = await checkLive((oidc) => ({ ...oidc, issuer: 'https://login.example.org/' }))
      expect(lines).to.include('ok: provider: Auth0, without any of its usual mistakes')
    })
  })
})
