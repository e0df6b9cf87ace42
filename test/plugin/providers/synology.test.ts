import { expect } from 'chai'
import { SYNOLOGY } from '../../../fixtures/idp/documented/synology.ts'
import { documentedSetups, SERVER } from '../../support/documented-setup.ts'
import { itFollowsItsPage, withGroups } from './page.contract.ts'

const PAGE = 'synology.md'

describe('Synology SSO Server simulated from its documentation', () => {
  itFollowsItsPage({
    page: PAGE,
    provider: SYNOLOGY,
    knownAs: 'Synology SSO Server',
    accountName: 'alice',
    signOut: {
      title: 'logout at Synology ends only our session, and returns to the login page',
      landing: `${SERVER}login`,
      asksAgain: false,
    },
    mistakes: [
      {
        title: 'the issuer with an IP address',
        oidc: (oidc) => ({ ...oidc, issuer: 'https://127.0.0.1:9/webman/sso' }),
        line: /^fail: .*not an IP address/,
      },
      {
        title: 'the issuer at QuickConnect',
        oidc: (oidc) => ({ ...oidc, issuer: 'https://example.quickconnect.to/webman/sso' }),
        line: /^fail: .*not QuickConnect/,
      },
      {
        title: 'the default scopes',
        oidc: (oidc) => ({ ...oidc, custom: { claims: { name: 'username' } } }),
        line: /^warn: .*scopes: profile\. Set `custom\.scope` to "openid email"/,
      },
      {
        title: 'no claim for the name',
        oidc: (oidc) => ({ ...oidc, custom: { scope: 'openid email' } }),
        line: /^warn: .*Set `custom\.claims\.name` to "username"/,
      },
    ],
  })

  const start = documentedSetups(PAGE, SYNOLOGY)

  it('a user without e-mail address on the Synology NAS signs in', async () => {
    const { signIn } = await start()
    expect((await signIn('bob')).me).to.include({ status: 200, id: '~oidc:bob', name: 'bob', email: null })
  })

  it("Synology's directory groups match rules only by names that include the domain", async () => {
    const inDirectory = (name: string) => ({ required: name, siteadmin: 'mesh-admins@example.org' })
    const users = SYNOLOGY.users.map(({ claims, ...user }) => ({
      ...user,
      claims: { ...claims, groups: (claims.groups as string[]).map((group) => `${group}@example.org`) },
    }))
    for (const [required, outcome] of [
      ['mesh-users', 401],
      ['mesh-users@example.org', 200],
    ] as const) {
      const { idp, signIn } = await start({ oidc: withGroups(inDirectory(required)) })
      for (const user of users) idp.setUser(user)
      expect((await signIn('alice')).me.status, required).to.equal(outcome)
    }
  })
})
