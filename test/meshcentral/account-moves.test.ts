import { expect } from 'chai'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { until } from '../support/until.ts'
import { pluginLines } from './support/auth-log.ts'
import { alteredProgram, type DbRecord, packedProgram } from './support/data-folder.ts'
import { type Person, userKey } from './support/mesh-setup.ts'
import { addDevice } from './support/relay.ts'
import { createLocalAccount, isSignedIn, signedIn } from './support/session.ts'
import { type MeshOfTests, useMesh } from './support/use-mesh.ts'

const FULL = 0xffffffff
const LOCKED = 32
const PATH = 'pluginadmin.ashx?pin=meshcompanion'
const tokenOn = ({ body }: { readonly body: string }) => /name="token" value="([^"]+)"/.exec(body)?.[1] ?? ''

/** The ids in a record's links, which the database escapes. */
const linksOf = (record: DbRecord | undefined) => Object.keys(record?.links ?? {}).map((id) => decodeURIComponent(id))

/** A site admin with a password who has a device group with a device, and a user group. */
async function administrator(setup: MeshOfTests, name: string) {
  const browser = setup.browser()
  expect(await createLocalAccount(setup, browser, name)).to.equal(true)
  const page = await setup.open(browser)
  const device = await addDevice(page)
  await page.ask('createusergroup', { name: 'Helpers', responseid: 'helpers' })
  const group = await until('the user group', async () =>
    [...(await setup.data.records()).values()].find((record) => record.type === 'ugrp' && record.name === 'Helpers'),
  )
  await page.ask('addusertousergroup', { ugrpid: group._id, usernames: [name], responseid: 'added' })
  return { browser, page, device, group: group._id, id: `user//${name}` }
}

const openMovePage = (setup: MeshOfTests, browser: ScriptedBrowser, from: string, to: string) =>
  browser.step(`${setup.url}${PATH}&page=move&${new URLSearchParams({ from, to }).toString()}`)

const pressMove = (setup: MeshOfTests, browser: ScriptedBrowser, fields: Readonly<Record<string, string>>) =>
  browser.step(setup.url + PATH, { form: Object.entries({ action: 'move', ...fields }) })

describe("moving an account's devices and rights", () => {
  const setup = useMesh({ domains: { '': {}, other: {} } })
  let admin: Awaited<ReturnType<typeof administrator>>
  let person: Person
  let newId = ''
  let browser: ScriptedBrowser

  before(async () => {
    admin = await administrator(setup, 'tom')
    person = setup.person({ email: 'tom@example.test', email_verified: true })
    newId = userKey(person)
    browser = await signedIn(setup, person)
  })

  it('the move page shows both accounts side by side before the move', async () => {
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

  // Shows: plugin 6.18.
  it('a move transfers all of an account, locks the old account and writes one event', async () => {
    const page = await setup.open(browser)
    const token = tokenOn(await openMovePage(setup, admin.browser, 'tom', newId))
    const answer = await pressMove(setup, admin.browser, { token, from: admin.id, to: newId, lock: 'on' })
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
    const events = (await setup.data.events()).filter(({ msg }) => /\bmoved\b/i.test(String(msg)))
    expect(events.map(({ userid }) => userid)).to.deep.equal([newId])
    expect((await pluginLines(setup)).filter(({ event }) => event === 'account-moved')).to.have.length(1)
    expect(await isSignedIn(setup, admin.browser)).to.equal(false)
  })
})

describe('a move of an account that fails half-way', () => {
  const broken = alteredProgram(`
    const set = server.db.Set.bind(server.db)
    server.db.Set = (record, done) =>
      record.type === 'user' && record._id.includes('~oidc:') && Object.keys(record.links ?? {}).length > 0
        ? done?.(new Error('the disk is full'))
        : set(record, done)`)
  const setup = useMesh(async () => ({ program: await broken }))

  // Shows: plugin 6.18.
  it('MeshCentral completes a half-finished account move at the next start', async () => {
    const admin = await administrator(setup, 'tom')
    const person = setup.person()
    await signedIn(setup, person)
    const to = userKey(person)
    const token = tokenOn(await openMovePage(setup, admin.browser, 'tom', to))
    const answer = await pressMove(setup, admin.browser, { token, from: admin.id, to })
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
