import { expect } from 'chai'
import { told } from '../matrix/expectations.ts'
import { runMatrix } from '../matrix/run-matrix.ts'
import { ALICE } from '../support/people.ts'
import { describeGuide } from './keycloak/guide.ts'
import { findClient, REALM } from './keycloak/realm.ts'
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
      const asked = await idp.signIn(browser, await browser.get(`${lab.host.url}auth-oidc`), ALICE)
      const [form] = asked.forms
      if (!form) throw new Error(`no form at ${asked.url}: ${asked.text}`)
      const page = await browser.submit(form, {}, 'cancel')
      expect(page.url, told(lab, page)).to.match(/\/login\?failure=\w+$/)
      expect(page.text).to.not.match(/ask your administrator/i)
      expect(lab.authLog.at(-1)?.fields).to.include({ code: 'provider_error', error: 'access_denied' })
    })

    describeUpstream(bench)
  })

  describe('by the guide of the README', () => {
    describeGuide(bench)
  })
})
