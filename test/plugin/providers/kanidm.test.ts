import { expect } from 'chai'
import { KANIDM } from '../../../fixtures/idp/documented/kanidm.ts'
import { documentedSetups } from '../../support/documented-setup.ts'
import { itFollowsItsPage, withGroups } from './page.contract.ts'

const ORIGIN = 'https://idm.example.org'

describe('Kanidm simulated from its documentation and source code', () => {
  itFollowsItsPage({
    page: 'kanidm.md',
    provider: KANIDM,
    knownAs: 'Kanidm',
    signOut: {
      title: "logout ends the session at Kanidm and stays on Kanidm's login page",
      landing: `${ORIGIN}/ui/login`,
      asksAgain: true,
    },
    mistakes: [
      {
        title: 'the issuer without a client name',
        oidc: (oidc) => ({ ...oidc, issuer: `${ORIGIN}/oauth2/openid` }),
        line: /^fail: .*"https:\/\/idm\.example\.org\/oauth2\/openid\/mesh" in `issuer`/,
      },
      {
        title: "another client's issuer",
        oidc: (oidc) => ({ ...oidc, issuer: `${ORIGIN}/oauth2/openid/nextcloud` }),
        line: /^fail: .*\/oauth2\/openid\/mesh"/,
      },
      {
        title: 'the default signature algorithm',
        oidc: ({ client: { client_id, client_secret }, ...oidc }) => ({
          ...oidc,
          client: { client_id, client_secret },
        }),
        line: /^fail: .*Set `client\.id_token_signed_response_alg` to "ES256"/,
      },
      {
        title: 'a scope that is in no scope map',
        oidc: (oidc) => ({ ...oidc, custom: { scope: 'openid profile email phone' } }),
        line: /^fail: .*update-scope-map mesh <group of the users> openid profile email phone groups$/,
      },
      {
        title: 'group names without the domain',
        oidc: withGroups({ required: 'mesh-users' }),
        line: /^warn: .*match no group: mesh-users\./,
      },
      {
        title: 'mirrored groups with the scope groups',
        oidc: withGroups({ sync: true }),
        line: /^warn: .*"groups_spn"/,
      },
    ],
  })

  const start = documentedSetups('kanidm.md', KANIDM)

  it('group rules accept the group ids of Kanidm', async () => {
    const ids = { required: '1d0c2b3a-4958-4677-8695-a4b3c2d1e0f9' }
    const { signIn, checkLive } = await start({ oidc: withGroups(ids) })
    expect((await signIn('bob')).me).to.include({ status: 200, siteAdmin: false })
    const { lines } = await checkLive(withGroups(ids))
    expect(lines).to.include('ok: provider: Kanidm, without any of its usual mistakes')
  })

  it("a login ends on Kanidm's error page if a requested scope is in no scope map", async () => {
    const { signIn } = await start({ oidc: (oidc) => ({ ...oidc, custom: { scope: 'openid profile email phone' } }) })
    const { landing, me, failure } = await signIn('alice')
    expect(new URL(landing.url).hostname).to.equal('idm.example.org')
    expect(landing.text).to.equal('Access Denied')
    expect(me.status).to.equal(401)
    expect(failure).to.equal(undefined)
  })

  it('reports a wrong secret at Kanidm, which answers with status 401 and no body', async () => {
    const { idp, signIn, checkLive } = await start()
    idp.faults.set('token', { kind: 'answer', status: 401, headers: { 'www-authenticate': 'Bearer' } })
    expect((await signIn('alice')).failure).to.include({ endpoint: 'token_endpoint', status: 401 })
    const { code, lines } = await checkLive()
    expect(lines.find((line) => line.includes(': secret or key: '))).to.match(/^fail: .*`client\.client_secret`/)
    expect(code).to.equal(1)
  })
})
