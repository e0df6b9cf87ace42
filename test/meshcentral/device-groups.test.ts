import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { launchChromium } from '../support/chromium.ts'
import { takeDocumentPicture } from '../support/document-picture.ts'
import type { Person } from './support/mesh-setup.ts'
import { useMesh } from './support/use-mesh.ts'

/** Follows `plugin/docs/device-groups.md` and takes its pictures. */
describe('a mirrored user group with rights on a device group', () => {
  let browser: Browser
  const mesh = useMesh({ domains: { '': { oidc: { groups: { sync: true, siteadmin: ['mesh-admins'] } } } } })
  before(async () => {
    browser = await launchChromium()
  })
  after(() => browser?.close())

  async function signIn({ username, password, name }: Person): Promise<Page> {
    const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1100, height: 720 } })
    context.setDefaultTimeout(20_000)
    const page = await context.newPage()
    await page.goto(`${mesh.url}auth-oidc`)
    await page.getByLabel('User name').fill(username)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('#logoutControlSpan').getByText(`Welcome ${name}.`).waitFor()
    return page
  }

  it('members of a mirrored group have its rights on devices until they leave it', async () => {
    const bob = mesh.person({ name: 'Bob Builder', groups: ['mesh-users', 'helpdesk'] })
    const bobsPage = await signIn(bob)
    const page = await signIn(mesh.person({ name: 'Alice Example', groups: ['mesh-admins', 'mesh-users'] }))
    const dialog = page.locator('#dialog')
    const confirm = () => page.locator('#idx_dlgOkButton').click()
    /** Takes a picture without MeshCentral's frame. */
    const picture = (name: string, clip: { readonly y: number; readonly width: number; readonly height: number }) =>
      takeDocumentPicture(page, `plugin/docs/device-groups-${name}.png`, { x: 90, ...clip })

    await page.locator('#getStarted1 a').click()
    await page.locator('#dp2meshname').pressSequentially('Branch office')
    await confirm()
    await page.getByText('Branch office').first().waitFor()

    await page.locator('#LeftMenuMyUsers').click()
    await page.locator('#UsersGroups').click()
    await page.locator('#p50').getByText('helpdesk').first().waitFor()
    await picture('list', { y: 66, width: 1010, height: 240 })
    await page.locator('#p50').getByText('helpdesk').first().click()
    const group = page.locator('#p51')
    await group.getByText('Bob Builder').first().waitFor()
    // The identity provider decides who is in a mirrored group.
    expect(await group.getByText('Add Users').count()).to.equal(0)

    await group.getByRole('link', { name: 'Add Device Group' }).click()
    await dialog.locator('#dp2groupid').waitFor()
    for (const name of ['Remote Control & Relay', 'Wake Devices', 'Chat & Notify', 'Device Details'])
      await dialog.getByLabel(name).check()
    await picture('rights', { y: 90, width: 780, height: 460 })
    await confirm()
    await group.getByText('Branch office').waitFor()
    await picture('done', { y: 90, width: 780, height: 430 })
    // The device group's page offers user groups only if some were created by hand.
    await group.getByText('Branch office').click()
    await page.locator('#p20').getByText('Add Users').waitFor()
    expect(await page.locator('#p20').getByText('Add User Group').count()).to.equal(0)

    // The change reaches the page that Bob has open.
    await bobsPage.getByText('Branch office').first().waitFor()
    const rights = () => bobsPage.evaluate('Object.values(meshes).map((mesh) => GetMeshRights(mesh))')
    expect(await rights()).to.deep.equal([8 + 64 + 16_384 + 1_048_576])

    mesh.person({ name: 'Bob Builder', groups: ['mesh-users'] }, bob)
    const nextPage = await signIn(bob)
    expect(await nextPage.evaluate('Object.keys(meshes).length')).to.equal(0)
  })
})
