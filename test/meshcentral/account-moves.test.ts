import { expect } from 'chai'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { until } from '../support/until.ts'
import { createAdministrator, moveAccount, openMovePage, pressMove, tokenOn } from './support/account-moves.ts'
import { pluginLines } from './support/auth-log.ts'
import { alteredProgram, type DbRecord, packedProgram } from './support/data-folder.ts'
import { installMeshCentral, OLDER_VERSION } from './support/installation.ts'
import { type Person, userKey } from './support/mesh-setup.ts'
import { isLoginPage, isSignedIn, signedIn, signIn } from './support/session.ts'
import { closes, useMesh } from './support/use-mesh.ts'

const FULL = 0xffffffff
const LOCKED = 32
/** The ids in a record's links, which the database escapes. */
const linksOf = (record: DbRecord | undefined) => Object.keys(record?.links ?? {}).map((id) => decodeURIComponent(id))

describe("moving an account's devices and rights", () => {
  const setup = useMesh({ domains: { '': {}, other: {} } })
  let admin: Awaited<ReturnType<typeof createAdministrator>>
  let person: Person
  let newId = ''
  let browser: ScriptedBrowser

  before(async () => {
    admin = await createAdministrator(setup, 'tom', setup.open)
    person = setup.person({ email: 'tom@example.test', email_verified: true })
    newId = userKey(person)
    browser = await signedIn(setup, person)
  })

  it('the account move page shows both accounts side by side before the move', async () => {
    const { body } = await openMovePage(setup, admin.browser, 'Tom', newId)
    for (const text of ['What moves', 'site admin', 'Devices (all rights)', 'Helpers', newId])
      expect(body).to.include(text)
    const unknown = await openMovePage(setup, admin.browser, 'tim', newId)
    expect(unknown.body).to.include('has no account <b>tim</b>')
    expect(tokenOn(unknown)).to.equal('')
  })

  it('refuses an account move by forged request, by other users, or to another domain', async () => {
    const token = tokenOn(await openMovePage(setup, admin.browser, 'tom', newId))
    expect((await openMovePage(setup, browser, 'tom', newId)).status).to.equal(403)
    expect((await pressMove(setup, browser, { token, from: admin.id, to: newId })).status).to.equal(403)
    expect((await pressMove(setup, admin.browser, { from: admin.id, to: newId })).status).to.equal(403)
    const elsewhere = { token, from: admin.id, to: 'user/other/~oidc:x' }
    expect((await pressMove(setup, admin.browser, elsewhere)).status).to.equal(403)
    expect((await setup.account(person)).siteadmin).to.equal(undefined)
  })

  it("moving an account's page settings twice writes only one event", async () => {
    const [oldPerson, newPerson] = [setup.person(), setup.person()]
    const page = await setup.open(await signedIn(setup, oldPerson))
    page.send({ action: 'userWebState', state: JSON.stringify({ uiMode: '3' }) })
    await signedIn(setup, newPerson)
    const [from, to] = [userKey(oldPerson), userKey(newPerson)]
    const settingsOf = async (id: string) => (await setup.data.records()).get(`ws${id}`)?.state
    await until('the page settings', () => settingsOf(from))
    for (const time of ['first', 'second'])
      expect((await moveAccount(setup, admin.browser, { from, to })).headers.location, time).to.include('outcome=moved')
    expect(await settingsOf(to)).to.equal(await settingsOf(from))
    const texts = (await setup.data.events()).map(({ msg }) => String(msg)).filter((text) => text.includes(from))
    expect(texts).to.have.length(1)
    expect(texts[0]).to.include('settings')
  })

  // Shows: plugin 6.18.
  it('an account move transfers all rights, locks the old account and writes one event', async () => {
    const page = await setup.open(browser)
    const movesInLog = async () => (await pluginLines(setup)).filter(({ event }) => event === 'account-moved').length
    const [earlierEvents, earlierMoves] = [(await setup.data.events()).length, await movesInLog()]
    const answer = await moveAccount(setup, admin.browser, { from: admin.id, to: newId }, { lock: 'on' })
    expect(answer.status).to.equal(303)
    expect(answer.headers.location).to.equal('?pin=meshcompanion&page=move&outcome=moved')
    const { meshes } = await page.ask('meshes')
    expect((meshes as readonly { readonly name: string }[]).map(({ name }) => name)).to.include('Devices')
    const moved = await setup.account(person, '', ({ siteadmin }) => siteadmin === FULL)
    const records = await setup.data.records()
    const old = records.get(admin.id) as DbRecord
    expect(old.siteadmin).to.equal(LOCKED)
    expect(linksOf(old)).to.deep.equal([])
    const deviceGroup = [...records.values()].find(({ type }) => type === 'mesh')
    expect(linksOf(moved)).to.have.members([deviceGroup?._id, admin.group])
    expect(linksOf(deviceGroup)).to.deep.equal([newId])
    expect(linksOf(records.get(admin.group))).to.deep.equal([newId])
    const events = (await setup.data.events()).slice(earlierEvents).filter(({ msg }) => /\bmoved\b/i.test(String(msg)))
    expect(events.map(({ userid }) => userid)).to.deep.equal([newId])
    expect(await movesInLog()).to.equal(earlierMoves + 1)
    expect(await isSignedIn(setup, admin.browser)).to.equal(false)
  })
})

describe('logins refused because the user has no single sign-on account', () => {
  const setup = useMesh({ domains: { '': { oidc: { newAccounts: false } } } })

  // Shows: plugin 6.19.
  it('the account move page lists refused users, and suggests moves once they sign in', async () => {
    const admin = await createAdministrator(setup, 'tom', setup.open)
    const verified = async (isVerified: boolean) => {
      admin.page.send({ action: 'edituser', id: admin.id, emailVerified: isVerified })
      const isStored = async () => (await setup.data.records()).get(admin.id)?.emailVerified === isVerified
      await until('the account in the database', isStored)
    }
    const person = setup.person({ email: 'Tom@example.test', email_verified: true })
    const text = `${admin.id} → ${userKey(person)}`
    const listed = async () => (await openMovePage(setup, admin.browser, '', '')).body
    const refused = async () => expect(isLoginPage(await signIn(setup, setup.browser(), person))).to.equal(true)
    await verified(false)
    await refused()
    expect(await listed()).to.not.include(text)
    await verified(true)
    await refused()
    const page = await listed()
    expect(page).to.include(text)
    expect(page).to.include('Set <code>newAccounts</code> to true')
    expect(page).to.not.include('Suggestions')
    expect(page).to.not.match(/tom@example\.test/i)
    await setup.restart({ domains: { '': {} } })
    await signedIn(setup, person)
    expect((await listed()).split('Users without an account')[0]).to.include(`>${text}</a>`)
  })
})

describe('an account move that fails halfway', () => {
  const broken = alteredProgram(`
    const set = server.db.Set.bind(server.db)
    server.db.Set = (record, done) =>
      record.type === 'user' && record._id.includes('~oidc:') && Object.keys(record.links ?? {}).length > 0
        ? done?.(new Error('the disk is full'))
        : set(record, done)`)
  const setup = useMesh(async () => ({ program: await broken }))

  // Shows: plugin 6.18.
  it('MeshCentral completes a half-finished account move at the next start', async () => {
    const admin = await createAdministrator(setup, 'tom', setup.open)
    const person = setup.person()
    await signedIn(setup, person)
    const to = userKey(person)
    const answer = await moveAccount(setup, admin.browser, { from: admin.id, to })
    expect(answer.headers.location).to.include('outcome=failed')
    await setup.restart({ program: await packedProgram() })
    const moved = await setup.account(person, '', ({ siteadmin }) => siteadmin === FULL)
    expect(linksOf(moved)).to.have.length(2)
    const records = await until('the end of the move', async () => {
      const present = await setup.data.records()
      return ![...present.values()].some(({ type }) => type === 'meshcompanionmove') && present
    })
    expect(records.get(admin.id)?.siteadmin).to.equal(undefined)
  })
})

describe('account moves in the older of the two tested MeshCentral versions', () => {
  const setup = useMesh(async () => ({ installation: await installMeshCentral(OLDER_VERSION) }))

  it('the older tested MeshCentral shows an account move at once in open pages', async () => {
    const admin = await createAdministrator(setup, 'tom', setup.open)
    const person = setup.person()
    const page = await setup.open(await signedIn(setup, person))
    const answer = await moveAccount(setup, admin.browser, { from: admin.id, to: userKey(person) }, { lock: 'on' })
    expect(answer.headers.location).to.include('outcome=moved')
    await closes(admin.page)
    const { nodes } = await page.ask('nodes')
    expect(JSON.stringify(nodes)).to.include(admin.device)
    const record = await setup.account(person, '', ({ siteadmin }) => siteadmin === FULL)
    expect(linksOf(record)).to.have.length(2)
    expect(await isSignedIn(setup, admin.browser)).to.equal(false)
  })
})
