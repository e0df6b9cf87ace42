import { readdirSync, readFileSync } from 'node:fs'
import { expect } from 'chai'
import { readInstallation } from '../../plugin/doctor/check-installation.ts'
import { TESTED_VERSIONS } from '../../plugin/doctor/meshcentral-members.ts'
import { pluginLines } from './support/auth-log.ts'
import { installMeshCentral, OLDER_VERSION } from './support/installation.ts'
import { laboratory } from './support/laboratory.ts'
import { movedInstallation } from './support/moved.ts'
import { buttonsOf, isSignedIn, signedIn } from './support/session.ts'
import { closes, useMesh } from './support/use-mesh.ts'

const VERSION = '"version": "9.8.7"'

describe('the plugin in an older or untested version of MeshCentral', () => {
  let older: string
  const setup = useMesh(async () => {
    older = await installMeshCentral(OLDER_VERSION)
    return { installation: older, domains: { '': { oidc: { groups: { sync: true } } } } }
  })
  const versionWarnings = async () => (await pluginLines(setup)).filter(({ event }) => event === 'untested-version')

  it('users sign in and out in the older tested MeshCentral without a version warning', async () => {
    const person = setup.person({ groups: ['staff'] })
    const [browser, secondBrowser] = [await signedIn(setup, person), await signedIn(setup, person)]
    const record = await setup.account(person, '', ({ links }) => Object.keys(links ?? {}).length === 1)
    expect(record.name).to.equal(person.name)
    const [page, secondPage] = [await setup.open(browser), await setup.open(secondBrowser)]
    expect(await setup.verdictOn(page.auth)).to.equal('signed in')
    await browser.get(`${setup.url}logout`)
    await closes(page)
    expect(await isSignedIn(setup, browser)).to.equal(false)
    expect(await setup.verdictOn(page.auth)).to.equal('refused')
    expect(secondPage.isOpen()).to.equal(true)
    expect(await setup.endSessions({ sub: person.sub })).to.equal(200)
    await closes(secondPage)
    expect(await setup.verdictOn(secondPage.auth)).to.equal('refused')
    expect(await versionWarnings()).to.deep.equal([])
  })

  it('the checker with --meshcentral finds each tested MeshCentral version compatible', async () => {
    const files = {
      read: (file: string) => readFileSync(file, 'utf8'),
      list: (folder: string) => readdirSync(folder),
    }
    const folders = [older, (await laboratory()).installation]
    for (const [index, version] of TESTED_VERSIONS.entries()) {
      const folder = folders[index] ?? ''
      const { isFine, text } = readInstallation(folder, '1', files) ?? {}
      expect(isFine, text).to.equal(true)
      expect(text).to.include(`MeshCentral ${version} (tested)`)
    }
  })

  it('users sign in to an untested MeshCentral, and a warning lists tested versions', async () => {
    await setup.restart({ installation: await movedInstallation([['package.json', /"version": "[^"]*"/g, VERSION]]) })
    expect(await buttonsOf(setup)).to.deep.equal(['oidc'])
    await signedIn(setup, setup.person())
    const [line, ...more] = await versionWarnings()
    expect(line?.level).to.equal('WARN')
    expect(more).to.deep.equal([])
    for (const number of ['9.8.7', ...TESTED_VERSIONS]) expect(line?.message).to.include(number)
  })

  it('refuses the cookie of an ended session even if encodeCookie did not create it', async () => {
    const installation = await movedInstallation([
      ['meshcentral.js', 'obj.encodeCookie = ', 'obj.sealAway = obj.encodeCookie = '],
      ['webserver.js', '.encodeCookie(', '.sealAway('],
    ])
    await setup.restart({ installation })
    const person = setup.person()
    const page = await setup.open(await signedIn(setup, person))
    expect(await setup.endSessions({ sub: person.sub })).to.equal(200)
    await closes(page)
    expect(await setup.verdictOn(page.auth)).to.equal('refused')
  })
})
