import { expect } from 'chai'
import { type Idp, startIdp } from '../../fixtures/idp/server.ts'
import { pluginLines } from './support/auth-log.ts'
import { CLIENT } from './support/mesh-setup.ts'
import { isSignedIn, messageOn, signedIn, signIn } from './support/session.ts'
import { useMesh } from './support/use-mesh.ts'

describe('an issuer that is replaced', () => {
  const setup = useMesh({ domains: { '': { oidc: { groups: { siteadmin: 'admins' } } } } })
  let other: Idp
  before(async () => {
    other = await startIdp()
    await other.addClient({ ...CLIENT, redirect_uris: [`${setup.url}auth-oidc-callback`] })
  })
  after(() => other?.close())
  const at = (idp: Idp, custom = {}) => ({
    domains: { '': { oidc: { issuer: idp.issuer, custom, groups: { siteadmin: 'admins' } } } },
  })

  it('ends sessions and refuses accounts of an issuer missing from previous_issuers', async () => {
    const person = setup.person({ groups: ['admins'] })
    // Somebody else has the same sub at the other one.
    other.setUser({ ...person, claims: { ...person.claims, name: 'A stranger', groups: [] } })
    const browser = await signedIn(setup, person)
    const { auth } = await setup.open(browser)
    expect((await setup.account(person)).oidcissuer).to.equal(setup.idp.issuer)

    await setup.restart(at(other))
    expect(await setup.verdictOn(auth)).to.equal('refused')
    expect(messageOn(await signIn(setup, setup.browser(), person))).to.equal(111)
    const failed = (await pluginLines(setup)).find(({ fields }) => fields.code === 'issuer_changed')
    expect(failed?.fields).to.deep.include({ remembered: setup.idp.issuer, issuer: other.issuer })
    const record = await setup.account(person)
    expect(record).to.include({ name: person.name, siteadmin: 0xffffffff, oidcissuer: setup.idp.issuer })

    await setup.restart(at(other, { previous_issuers: setup.idp.issuer }))
    expect([await isSignedIn(setup, browser), await setup.verdictOn(auth)]).to.deep.equal([true, 'signed in'])
    await setup.restart(at(other))
    expect(await isSignedIn(setup, browser)).to.equal(false)
    await setup.restart(at(other, { previous_issuers: setup.idp.issuer }))
    await signedIn(setup, person)
    const moved = await setup.account(person, '', ({ oidcissuer }) => oidcissuer === other.issuer)
    expect(moved.siteadmin).to.equal(undefined)
  })
})
