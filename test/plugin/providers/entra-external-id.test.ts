import { expect } from 'chai'
import { ENTRA_EXTERNAL_ID } from '../../../fixtures/idp/documented/entra-external-id.ts'
import { documentedSetups } from '../../support/documented-setup.ts'
import { itFollowsItsPage, itNeedsNoUserInfo, type PageCase, withGroups } from './page.contract.ts'

const PAGE = 'entra-external-id.md'
const NAME = 'https://contoso.ciamlogin.com'
const TENANT = '11111111-1111-1111-1111-111111111111'

const PAGE_CASE: PageCase = {
  page: PAGE,
  provider: ENTRA_EXTERNAL_ID,
  knownAs: 'Entra External ID',
  mistakes: [
    {
      title: 'the issuer with the domain name instead of the tenant id',
      oidc: (oidc) => ({
        ...oidc,
        issuer: { issuer: `${NAME}/contoso.onmicrosoft.com/v2.0`, userinfo_endpoint: false },
      }),
      line: /^fail: .*<tenant id>\/v2\.0`/,
    },
    {
      title: 'the issuer without its version',
      oidc: (oidc) => ({ ...oidc, issuer: { issuer: `${NAME}/${TENANT}`, userinfo_endpoint: false } }),
      line: /^fail: .*<tenant id>\/v2\.0`/,
    },
    { title: 'the scope groups', oidc: withGroups({ scope: 'groups' }), line: /^fail: .*Set `groups\.scope` to ""/ },
    {
      title: 'names in rules for the claim groups',
      oidc: withGroups({ claim: 'groups' }),
      line: /^warn: .*object ids.*"roles"/,
    },
    {
      title: 'UserInfo is asked',
      oidc: (oidc) => ({ ...oidc, issuer: `${NAME}/${TENANT}/v2.0` }),
      line: /^warn: .*Set `issuer\.userinfo_endpoint` to false/,
    },
  ],
}

describe('Entra External ID simulated from its documentation', () => {
  itFollowsItsPage(PAGE_CASE)
  itNeedsNoUserInfo(PAGE_CASE, (oidc) => ({ ...oidc, issuer: `${NAME}/${TENANT}/v2.0` }))

  const start = documentedSetups(PAGE, ENTRA_EXTERNAL_ID)

  it('logins to Entra External ID request no UserInfo with the documented settings', async () => {
    const { signIn, idp } = await start()
    await signIn('carol')
    expect(idp.requests('userinfo')).to.equal(0)
  })

  // Shows: plugin 2.8.
  it('--live accepts the issuer that Entra External ID publishes for a tenant name', async () => {
    const { lines } = await (await start()).checkLive()
    expect(lines[0]).to.match(/^ok: discovery: .*issuer https:\/\/1{8}.*, which Microsoft publishes for this address$/)
  })
})
