import { expect } from 'chai'
import { AD_FS } from '../../../fixtures/idp/documented/ad-fs.ts'
import { type DocumentedOptions, documentedSetups, SERVER } from '../../support/documented-setup.ts'
import { itFollowsItsPage, withGroups } from './page.contract.ts'

const PAGE = 'ad-fs.md'
type Change = NonNullable<DocumentedOptions['oidc']>

/** Lets the plugin ask UserInfo, against the advice of the page. */
const askingUserInfo: Change = (oidc) => ({ ...oidc, issuer: 'https://fs.example.org/adfs' })
const withCustom =
  (change: Readonly<Record<string, unknown>>): Change =>
  ({ custom, ...oidc }) => ({ ...oidc, custom: { ...(custom as object), ...change } })

describe('AD FS simulated from its documentation', () => {
  itFollowsItsPage({
    page: PAGE,
    provider: AD_FS,
    knownAs: 'AD FS',
    mistakes: [
      {
        title: 'the issuer of access tokens',
        oidc: ({ issuer, ...oidc }) => ({
          ...oidc,
          issuer: { ...(issuer as object), issuer: 'https://fs.example.org/adfs/services/trust' },
        }),
        line: /^fail: .*Write `https:\/\/fs\.example\.org\/adfs`/,
      },
      { title: 'the scope groups', oidc: withGroups({ scope: 'groups' }), line: /^fail: .*Set `groups\.scope` to ""/ },
      {
        title: 'the scope offline_access',
        oidc: withCustom({ scope: 'openid profile email allatclaims offline_access' }),
        line: /^fail: .*Remove them from `custom\.scope`/,
      },
      {
        title: 'no allatclaims',
        oidc: withCustom({ scope: 'openid profile email' }),
        line: /^warn: .*no groups\. .*configure: `allatclaims` in `custom\.scope`\./,
      },
      {
        title: 'no resource',
        oidc: withCustom({ authorization_params: {} }),
        line: /^warn: .*no groups\. .*configure: `resource` in `custom\.authorization_params`/,
      },
      {
        title: 'no form_post',
        oidc: ({ client, ...oidc }) => ({ ...oidc, client: { ...client, response_mode: 'query' } }),
        line: /^warn: .*no groups\. .*configure: `client\.response_mode` "form_post"/,
      },
      { title: 'UserInfo is asked', oidc: askingUserInfo, line: /^warn: .*Set `issuer\.userinfo_endpoint` to false/ },
    ],
  })

  const start = documentedSetups(PAGE, AD_FS)

  it('a user signs in at AD FS although UserInfo refuses the token', async () => {
    const { signIn, lines } = await start({
      oidc: (oidc) => withGroups({ required: undefined })({ ...askingUserInfo(oidc), client: oidc.client }),
    })
    expect((await signIn('carol')).me).to.include({ status: 200, siteAdmin: false })
    expect(lines('userinfo-failed')).to.have.length(1)
  })

  describe('AD FS if the user changes `resource` in the address of the login page', () => {
    /** Signs alice in, then again with another resource. Returns the site right that the second login leaves. */
    async function rightAfterAttack(oidc: Change) {
      const setup = await start({ oidc })
      const { person, me } = await setup.signIn('alice')
      expect(me.siteAdmin).to.equal(true)
      const { headers } = await person.step(`${SERVER}auth-oidc`)
      const request = new URL(headers.location ?? '')
      request.searchParams.set('resource', 'urn:of-another-api')
      await person.get(request.href)
      return JSON.parse((await person.step(`${SERVER}api/me`)).body).siteAdmin
    }
    const onlyAdmins = withGroups({ required: undefined })

    it('AD FS users who change `resource` lose site admin with the documented settings', async () => {
      expect(await rightAfterAttack(onlyAdmins)).to.equal(false)
    })

    it('AD FS users who change `resource` keep site admin if UserInfo is requested', async () => {
      const asking: Change = (oidc) => onlyAdmins({ ...askingUserInfo(oidc), client: oidc.client })
      expect(await rightAfterAttack(asking)).to.equal(true)
    })
  })
})
