import { expect } from 'chai'
import { askProvider } from '../../../plugin/doctor/check-live.ts'
import { readDomains } from '../../../plugin/mount/read-domains.ts'
import { expectNoComplaint, signInAs, signOutFully } from '../matrix/expectations.ts'
import { runMatrix } from '../matrix/run-matrix.ts'
import { ALICE } from '../support/people.ts'
import { describeGuide } from './keycloak/guide.ts'
import { describeStepUp } from './keycloak/step-up.ts'
import { describeUpstream } from './keycloak/upstream.ts'
import { keycloak } from './keycloak.ts'

runMatrix(keycloak, (bench) => {
  describe('behavior specific to Keycloak', () => {
    it('a user can sign out if many groups make the ID token too long for a URL', async () => {
      const { idp } = bench()
      const groups = Array.from({ length: 120 }, (_, index) => `a-group-with-a-long-name-number-${index}`)
      await idp.setPerson({ ...ALICE, groups })
      const lab = await bench().lab({ registered: { groups: 'by_scope' }, groups: { sync: true } })
      const { browser, me } = await signInAs(lab, ALICE)
      expect(me.userGroups).to.have.length(120)
      const page = await signOutFully(lab, browser)
      expect(await idp.ownSessions(ALICE)).to.equal(0)
      expectNoComplaint(lab, page)
    })

    it('the live check reports whether the post-logout address is registered at Keycloak', async () => {
      for (const [registered, expected] of [
        [{}, 'ok'],
        [{ post_logout_redirect_uris: ['https://elsewhere.example.org/login'] }, 'fail'],
      ] as const) {
        const lab = await bench().lab({ registered })
        const [domain] = readDomains(lab.config).domains
        if (!domain?.settings) throw new Error(JSON.stringify(domain?.problems))
        const verdicts = await askProvider(domain.settings)
        const answer = verdicts.find(({ question }) => question === 'post-logout address')
        expect(answer?.verdict, answer?.text).to.equal(expected)
        expect(answer?.text).to.match(expected === 'ok' ? /^registered/ : /Valid post logout redirect URIs/)
      }
    })

    describeUpstream(bench)
    describeStepUp(bench)
  })

  describe('Keycloak configured as its documentation page says', () => {
    describeGuide(bench)
  })
})
