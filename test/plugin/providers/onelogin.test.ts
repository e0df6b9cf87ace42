import { expect } from 'chai'
import { ONELOGIN } from '../../../fixtures/idp/documented/onelogin.ts'
import { documentedSetups } from '../../support/documented-setup.ts'
import { itFollowsItsPage, withGroups } from './page.contract.ts'

const PAGE = 'onelogin.md'

describe('OneLogin simulated from its documentation', () => {
  itFollowsItsPage({
    page: PAGE,
    provider: ONELOGIN,
    knownAs: 'OneLogin',
    mistakes: [
      {
        title: 'the issuer without a path',
        oidc: (oidc) => ({ ...oidc, issuer: 'https://example.onelogin.com' }),
        line: /^fail: .*"https:\/\/<subdomain>\.onelogin\.com\/oidc\/2"/,
      },
      {
        title: 'the issuer of version 1',
        oidc: (oidc) => ({ ...oidc, issuer: 'https://openid-connect.onelogin.com/oidc' }),
        line: /^fail: .*version 2/,
      },
      {
        title: 'the scope offline_access',
        oidc: (oidc) => ({ ...oidc, custom: { scope: 'openid profile email offline_access' } }),
        line: /^fail: .*Remove it/,
      },
      {
        title: 'no scope for groups',
        oidc: withGroups({ scope: '' }),
        line: /^warn: .*Set `groups\.scope` to "groups"/,
      },
      {
        title: 'a parameter without its scope',
        oidc: withGroups({ claim: 'params.department' }),
        line: /^warn: .*Set `groups\.scope` to "params"/,
      },
    ],
  })

  const start = documentedSetups(PAGE, ONELOGIN)

  it('refuses all users of OneLogin if the scope groups is not requested', async () => {
    const { signIn } = await start({ oidc: withGroups({ scope: '' }) })
    expect((await signIn('alice')).failure).to.include({ code: 'not_in_required_group' })
  })

  it('refuses users in several roles if OneLogin sends the roles as one text', async () => {
    const users = ONELOGIN.users.map((user) => ({
      ...user,
      claims: { ...user.claims, groups: 'mesh-users;mesh-admins' },
    }))
    const { idp, signIn } = await start()
    for (const user of users) idp.setUser(user)
    expect((await signIn('alice')).failure).to.include({ code: 'not_in_required_group' })
  })

  it("reads groups from a parameter of OneLogin's application", async () => {
    const { signIn } = await start({ oidc: withGroups({ claim: 'params.department', scope: 'params' }) })
    expect((await signIn('bob')).me).to.include({ status: 200, siteAdmin: false })
  })
})
