import { expect } from 'chai'
import { until } from '../../meshcentral/support/until.ts'
import { expectNoComplaint, expectSignedIn, told } from '../matrix/expectations.ts'
import { runMatrix } from '../matrix/run-matrix.ts'
import { ALICE, BOB } from '../support/people.ts'
import { listenToTokens } from '../support/token-answers.ts'
import { describeGuide } from './keycloak/guide.ts'
import { findClient, REALM } from './keycloak/realm.ts'
import { describeStepUp } from './keycloak/step-up.ts'
import { describeUpstream } from './keycloak/upstream.ts'
import { keycloak } from './keycloak.ts'

runMatrix(keycloak, (bench) => {
  describe('beside the matrix', () => {
    it('reads what happened where somebody says no at the consent page', async () => {
      const { idp } = bench()
      const lab = await bench().lab()
      const client = await findClient(idp.admin, 'mesh')
      await idp.admin.put(`/${REALM}/clients/${client?.id}`, { ...client, consentRequired: true })
      const browser = lab.browser()
      const first = await browser.get(`${lab.host.url}auth-oidc`)
      const asked = await browser.signIn(first, ALICE.username, ALICE.password)
      const [form] = asked.forms
      if (!form) throw new Error(`no form at ${asked.url}: ${asked.text}`)
      const page = await browser.submit(form, {}, 'cancel')
      expect(page.url, told(lab, page)).to.match(/\/login\?failure=\w+$/)
      expect(page.text).to.not.match(/ask your administrator/i)
      expect(lab.authLog.at(-1)?.fields).to.include({ code: 'provider_error', error: 'access_denied' })
    })

    it('signs somebody out whose groups make the ID token too long for an address', async () => {
      const { idp } = bench()
      const groups = Array.from({ length: 120 }, (_, index) => `a-group-with-a-long-name-number-${index}`)
      await idp.setPerson({ ...ALICE, groups })
      const lab = await bench().lab({ registered: { groups: 'by_scope' }, groups: { sync: true } })
      const visit = await lab.signIn(ALICE)
      expectSignedIn(lab, visit, ALICE)
      expect(visit.who.userGroups).to.have.length(120)
      const page = await lab.signOut(visit.browser)
      expect(page.url, told(lab, page)).to.satisfy((url: string) => url.startsWith(`${lab.host.url}login`))
      expect(await idp.ownSessions(ALICE)).to.equal(0)
      expectNoComplaint(lab, page)
    })

    it('renews sessions in use where each refresh token is good once, and signs out who is disabled, and nobody else', async () => {
      const { idp } = bench()
      const realm = await idp.admin.get<object>(`/${REALM}`)
      await idp.admin.put(`/${REALM}`, { ...realm, revokeRefreshToken: true, refreshTokenMaxReuse: 0 })
      const tokens = listenToTokens()
      const lab = await bench().lab({ host: { fetch: tokens.fetch, sessionCheckMs: 500 } })
      const [alice, bob] = [await lab.signIn(ALICE), await lab.signIn(BOB)]
      const isIn = async ({ browser }: typeof alice) => (await lab.whoIs(browser)).status === 200
      await until('four renewals', async () => (await isIn(alice)) && (await isIn(bob)) && tokens.answers.length >= 6)
      await idp.disable(ALICE)
      await until('the session of who is disabled to end', async () => !(await isIn(alice)))
      expect(await isIn(bob)).to.equal(true)
      expect(lab.authLog.filter(({ event }) => event === 'session-ended')).to.have.length(1)
      expectNoComplaint(lab, bob.page)
    })

    describeUpstream(bench)
    describeStepUp(bench)
  })

  describe('by the page of the documents', () => {
    describeGuide(bench)
  })
})
