import { expect } from 'chai'
import { buttonsOf, signedIn } from './support/session.ts'
import { useMesh } from './support/use-mesh.ts'

describe("mistakes in MeshCentral's configuration", () => {
  const setup = useMesh({
    settings: { plugins: { enabled: true, list: ['meshcompanion'], meshcompanion: { sesionCheckMinutes: 1 } } },
    domains: {
      '': { oidc: { groups: { siteadmin: ['admins'] }, custom: { colour: '<b>red</b>', '<i>': 1 } } },
      typo: { oidc: { groups: { requred: ['mesh-users'] } } },
    },
  })

  it("MeshCentral's server warnings and the status page list configuration mistakes", async () => {
    const browser = await signedIn(setup, setup.person({ groups: ['admins'] }))
    const page = await setup.open(browser)
    const { warnings } = await page.message(({ action }) => action === 'serverwarnings')
    const texts = (warnings as readonly { readonly msg: string }[]).map(({ msg }) => msg).join('\n')
    expect(texts).to.include('domains[""].authStrategies.oidc.custom.colour is not a known setting.')
    expect(texts).to.include('domains.typo.authStrategies.oidc.groups.requred is not a known setting.')
    expect(texts).to.include('settings.plugins.meshcompanion.sesioncheckminutes is not a known setting.')
    expect(texts).not.to.include('<i>')
    const { body } = await browser.step(`${setup.url}pluginadmin.ashx?pin=meshcompanion`)
    expect(body).to.include('oidc.custom.colour').and.include('sesioncheckminutes')
  })

  it('a domain with a misspelt group rule refuses logins and shows no button', async () => {
    expect(await buttonsOf(setup, 'typo')).to.deep.equal([])
    const { headers } = await setup.browser().step(`${setup.urlOf('typo')}auth-oidc`)
    expect(headers.location ?? '').not.to.include(setup.idp.issuer)
    expect(await buttonsOf(setup)).to.deep.equal(['oidc'])
  })
})
