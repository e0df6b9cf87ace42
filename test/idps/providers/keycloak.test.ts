import { expect } from 'chai'
import { expectNoComplaint, signsIn, told } from '../matrix/expectations.ts'
import { runMatrix } from '../matrix/run-matrix.ts'
import { ALICE } from '../support/people.ts'
import { describeGuide } from './keycloak/guide.ts'
import { describeStepUp } from './keycloak/step-up.ts'
import { keycloak } from './keycloak.ts'

runMatrix(keycloak, (bench) => {
  describe('beside the matrix', () => {
    it('signs somebody out whose groups make the ID token too long for an address', async () => {
      const { idp } = bench()
      const groups = Array.from({ length: 120 }, (_, index) => `a-group-with-a-long-name-number-${index}`)
      await idp.setPerson({ ...ALICE, groups })
      const lab = await bench().lab({ registered: { groups: 'by_scope' }, groups: { sync: true } })
      const visit = await signsIn(lab, ALICE)
      expect(visit.who.userGroups).to.have.length(120)
      const page = await lab.signOut(visit.browser)
      expect(page.url, told(lab, page)).to.satisfy((url: string) => url.startsWith(`${lab.host.url}login`))
      expect(await idp.ownSessions(ALICE)).to.equal(0)
      expectNoComplaint(lab, page)
    })

    describeStepUp(bench)
  })

  describe('by the page of the documents', () => {
    describeGuide(bench)
  })
})
