import { expect } from 'chai'
import { type Idp, startIdp } from '../../fixtures/idp/server.ts'
import { pluginLines } from './support/auth-log.ts'
import { CLIENT } from './support/mesh-setup.ts'
import { isSignedIn, messageOn, signedIn, signIn } from './support/session.ts'
import { useMesh } from './support/use-mesh.ts'

describe('accounts and sessions after the issuer was replaced', () => {
  const setup = useMesh({ domains: { '': { oidc: { groups: { siteadmin: 'admins' } } } } })
  let otherIdp: Idp
  before(async () => {
    otherIdp = await startIdp()
    await otherIdp.addClient({ ...CLIENT, redirect_uris: [`${setup.url}auth-oidc-callback`] })
  })
  after(() => otherIdp?.close())
  const configure = (idp: Idp, custom = {}) => ({
    domains: { '': { oidc: { issuer: idp.issuer, custom, groups: { siteadmin: 'admins' } } } },
  })

  it('refuses sessions and accounts of an issuer that is not in previous_issuers', async () => {
    const person = setup.person({ groups: ['admins'] })
    // At the other issuer, a different user has the same sub.
    otherIdp.setUser({ ...person, claims: { ...person.claims, name: 'A stranger', groups: [] } })
    const browser = await signedIn(setup, person)
    const { auth } = await setup.open(browser)
    expect((await setup.account(person)).oidcissuer).to.equal(setup.idp.issuer)

    await setup.restart(configure(otherIdp))
    expect(await setup.verdictOn(auth)).to.equal('refused')
    expect(messageOn(await signIn(setup, setup.browser(), person))).to.equal(111)
    const failed = (await pluginLines(setup)).find(({ fields }) => fields.code === 'issuer_changed')
    expect(failed?.fields).to.deep.include({ remembered: setup.idp.issuer, issuer: otherIdp.issuer })
    const record = await setup.account(person)
    expect(record).to.include({ name: person.name, siteadmin: 0xffffffff, oidcissuer: setup.idp.issuer })

    await setup.restart(configure(otherIdp, { previous_issuers: setup.idp.issuer }))
    expect(await isSignedIn(setup, browser)).to.equal(true)
    expect(await setup.verdictOn(auth)).to.equal('signed in')
    await setup.restart(configure(otherIdp))
    expect(await isSignedIn(setup, browser)).to.equal(false)
    await setup.restart(configure(otherIdp, { previous_issuers: setup.idp.issuer }))
    await signedIn(setup, person)
    const account = await setup.account(person, '', ({ oidcissuer }) => oidcissuer === otherIdp.issuer)
    expect(account.siteadmin).to.equal(undefined)
  })
})
