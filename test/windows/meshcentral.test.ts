import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { pluginLines } from '../meshcentral/support/auth-log.ts'
import { CLIENT, type Person, userKey } from '../meshcentral/support/mesh-setup.ts'
import { isApp, isLoginPage, isSignedIn, signedIn, signIn, thiefOf } from '../meshcentral/support/session.ts'
import { closes, useMesh } from '../meshcentral/support/use-mesh.ts'
import { until } from '../support/until.ts'
import { windowsInstallation } from './support/windows-installation.ts'
import { useWine, windowsPath } from './support/wine.ts'

const FULL = 0xffffffff

interface Group {
  readonly name: string
  readonly membershipType: string
  readonly links: Readonly<Record<string, { readonly name: string }>>
}

/** Writes the secret as Notepad may: with a byte order mark and a Windows line break. */
function writeSecret(file: string, secret: string): Promise<void> {
  return writeFile(file, `\uFEFF${secret}\r\n`)
}

describe('MeshCentral on Windows, with the plugin', () => {
  const wine = useWine()
  let installation = ''
  before(async function () {
    this.timeout(600_000)
    installation = await windowsInstallation(wine())
  })
  const groups = { sync: true, siteadmin: ['mesh-admins'], revokeAdmin: true }
  const secretFile = () => join(wine().folder, 'client secret.txt')
  const setup = useMesh(async () => {
    await writeSecret(secretFile(), CLIENT.client_secret)
    const client = { client_secret: undefined, client_secret_file: windowsPath(secretFile()) }
    return { installation, node: wine().node, domains: { '': { oidc: { groups, client } } } }
  })

  /** Signs a person in again and returns their groups in MeshCentral once the account has the expected rights. */
  const groupsAfter = async (person: Person, groups: readonly string[], siteadmin: number | undefined) => {
    const page = await signIn(setup, setup.browser(), setup.person({ groups }, person))
    expect(isApp(page)).to.equal(true)
    await setup.account(person, '', (record) => record.siteadmin === siteadmin)
    const records = [...(await setup.data.records()).values()] as unknown as (Group & { readonly type: string })[]
    return records.filter(({ type, links }) => type === 'ugrp' && links?.[userKey(person)] !== undefined)
  }

  it('MeshCentral on Windows writes a login to auth.log, with CRLF line ends', async () => {
    const person = setup.person()
    const page = await setup.open(await signedIn(setup, person))
    expect(page.user._id).to.equal(userKey(person))
    const lines = await until('the line of the login', async () => {
      const written = await pluginLines(setup)
      return written.some(({ event }) => event === 'login') && written
    })
    expect(lines.map(({ level }) => level)).not.to.include('ERROR')
    expect(await readFile(join(setup.data.path, 'auth.log'), 'utf8')).to.match(/ INFO login: .*\r\n/)
    expect(setup.server().output()).not.to.match(/plugin.*disabled|error/i)
  })

  it("a logout on Windows closes the session's pages and invalidates copied cookies", async () => {
    const browser = await signedIn(setup, setup.person())
    const page = await setup.open(browser)
    const copy = thiefOf(setup, browser)
    const { status, headers } = await browser.step(`${setup.url}logout`)
    expect(status).to.equal(302)
    expect(headers.location).to.match(/session\/end\?.*id_token_hint=/)
    await closes(page)
    expect(await isSignedIn(setup, copy)).to.equal(false)
    expect(await setup.verdictOn(page.auth)).to.equal('refused')
    expect(isLoginPage(await browser.step(`${setup.url}login`))).to.equal(true)
  })

  it('a back-channel logout on Windows ends all sessions of its user, and no others', async () => {
    const person = setup.person()
    const browsers = [await signedIn(setup, person), await signedIn(setup, person)]
    const page = await setup.open(browsers[0] as (typeof browsers)[0])
    const bystander = await signedIn(setup, setup.person())
    expect(await setup.endSessions({ sub: person.sub })).to.equal(200)
    await closes(page)
    for (const browser of browsers) expect(await isSignedIn(setup, browser)).to.equal(false)
    expect(await isSignedIn(setup, bystander)).to.equal(true)
  })

  it('a restart of MeshCentral on Windows revives no ended session, and ends no other', async () => {
    const [person, leaver] = [setup.person(), setup.person()]
    const [browser, backchannelBrowser, stays] = [
      await signedIn(setup, leaver),
      await signedIn(setup, person),
      await signedIn(setup, setup.person()),
    ]
    const copies = [thiefOf(setup, browser), thiefOf(setup, backchannelBrowser)]
    const revocations = async () =>
      [...(await setup.data.records()).values()].filter(({ type }) => type === 'meshcompanion').length
    const auths = [(await setup.open(browser)).auth, (await setup.open(backchannelBrowser)).auth]
    const countBefore = await revocations()
    await browser.step(`${setup.url}logout`)
    expect(await setup.endSessions({ sub: person.sub })).to.equal(200)
    await until('the records', async () => (await revocations()) >= countBefore + 2)
    await setup.restart()
    for (const copy of copies) expect(await isSignedIn(setup, copy)).to.equal(false)
    for (const auth of auths) expect(await setup.verdictOn(auth)).to.equal('refused')
    expect(await isSignedIn(setup, stays)).to.equal(true)
    expect(isApp(await signIn(setup, browser, leaver))).to.equal(true)
  })

  it('MeshCentral on Windows grants rights and mirrors groups at each login', async () => {
    const person = setup.person()
    const first = await groupsAfter(person, ['mesh-admins', 'Nachtwache Süd'], FULL)
    expect(first.map(({ name }) => name)).to.have.members(['mesh-admins', 'Nachtwache Süd'])
    expect(first.map(({ membershipType }) => membershipType)).to.deep.equal(['oidc', 'oidc'])
    const next = await groupsAfter(person, ['Nachtwache Süd'], undefined)
    expect(next.map(({ name }) => name)).to.deep.equal(['Nachtwache Süd'])
  })

  it('reads the client secret at a Windows path with a space, also after a rotation', async () => {
    expect(isApp(await signIn(setup, setup.browser(), setup.person()))).to.equal(true)
    const secret = 'the-next-client-secret-of-the-tests-on-windows'
    await writeSecret(secretFile(), secret)
    await setup.register({ client_secret: secret })
    expect(isApp(await signIn(setup, setup.browser(), setup.person()))).to.equal(true)
    expect((await pluginLines(setup)).filter(({ event }) => event === 'client-secret-reloaded')).to.have.length(1)
  })
})
