import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { until } from '../support/until.ts'
import { createAdministrator, moveAccount, openMovePage, pressMove, tokenOn } from './support/account-moves.ts'
import { openPage } from './support/control-socket.ts'
import { alteredProgram } from './support/data-folder.ts'
import { type MeshSetup, userKey } from './support/mesh-setup.ts'
import { knowsPerson, registerPeers, usePeers } from './support/peers.ts'
import { addDevice } from './support/relay.ts'
import { isSignedIn, signedIn, thiefOf } from './support/session.ts'

/** A peer reads the records every 30 s, and later on a busy machine. */
const LIMIT_MS = 180_000

/** Whether a message has the text, such as an id. */
const includes = (message: object, text: string) => JSON.stringify(message).includes(text)

/**
 * Delays two calls of the database while a file in the data folder is there: the list of unfinished moves
 * (`hold-list`), and the write of the account that the file names (`hold-write`).
 */
const withDelays = () =>
  alteredProgram(`
    const fs = require('fs')
    const holding = (name, isHeld, run) => {
      const file = server.datapath + '/' + name
      if (!fs.existsSync(file) || !isHeld(fs.readFileSync(file, 'utf8'))) return run()
      fs.writeFileSync(file + '-reached', '')
      const timer = setInterval(() => { if (!fs.existsSync(file)) { clearInterval(timer); run() } }, 20)
    }
    const { Set, GetAllType } = server.db
    server.db.Set = (record, done) =>
      holding('hold-write', (id) => id === record._id && Object.keys(record.links ?? {}).length > 0, () => Set(record, done))
    server.db.GetAllType = (type, done) =>
      holding('hold-list', () => type === 'meshcompanionmove', () => GetAllType(type, done))`)

async function holdFile({ data }: MeshSetup, name: string, content = '') {
  const file = join(data.path, name)
  await writeFile(file, content)
  return { reached: () => until(name, () => existsSync(`${file}-reached`)), remove: () => rm(file) }
}

describe('two peers of MeshCentral on mongo-java-server', () => {
  const peers = usePeers(['one', 'two'], async () => ({
    domains: { '': { members: { newAccounts: true } } },
    program: await withDelays(),
  }))
  let admin: Awaited<ReturnType<typeof createAdministrator>>

  before(async () => {
    // The first account of a domain is a site admin.
    admin = await createAdministrator(peers[0] as MeshSetup, 'tom')
  })

  it('an account move logs one event even if another MeshCentral peer starts meanwhile', async () => {
    const [first, second] = peers as [MeshSetup, MeshSetup]
    const [old, person] = [first.person(), first.person()]
    const [from, to] = [userKey(old), userKey(person)]
    const page = await openPage(first, await signedIn(first, old))
    await addDevice(page)
    await signedIn(first, person)
    const token = tokenOn(await openMovePage(first, admin.browser, from, to))
    const [list, write] = [await holdFile(second, 'hold-list'), await holdFile(first, 'hold-write', to)]
    const restarting = second.restart()
    await list.reached()
    const moving = pressMove(first, admin.browser, { token, from, to })
    await write.reached()
    await list.remove()
    await restarting
    await write.remove()
    expect((await moving).headers.location).to.include('outcome=moved')
    const moves = async () => {
      const { events } = await admin.page.ask('events', { userid: to, limit: 1_000 })
      const texts = (events as readonly { readonly msg?: unknown }[]).map(({ msg }) => String(msg))
      return texts.filter((text) => text.includes(`${from} to ${to}`))
    }
    await until('the event', async () => (await moves()).length > 0)
    expect(await moves()).to.have.length(1)
    await registerPeers(peers)
    page.close()
  }).timeout(LIMIT_MS)

  it('an account move updates open pages at the other peer, and survives later logins', async () => {
    const [first, second] = peers as [MeshSetup, MeshSetup]
    const person = first.person()
    const [to, browser] = [userKey(person), await signedIn(first, person)]
    for (const signedInBrowser of [admin.browser, browser]) await knowsPerson(second, signedInBrowser)
    const [page, oldPage] = [await openPage(second, browser), await openPage(second, admin.browser)]
    const answer = await moveAccount(first, admin.browser, { from: admin.id, to }, { lock: 'on' })
    expect(answer.headers.location).to.include('outcome=moved')
    await until('the device in the open page', async () => includes(await page.ask('nodes'), admin.device))
    await until('the device group in the open page', async () => includes(await page.ask('meshes'), to))
    await until('the members of the user group', async () => includes(await page.ask('usergroups'), to))
    await until('the old page to be closed', () => !oldPage.isOpen())
    await until('the lock', async () => !(await isSignedIn(second, thiefOf(second, admin.browser))))
    // The page receives events on devices only if it was subscribed to them again.
    const pageAtFirst = await openPage(first, browser)
    pageAtFirst.send({ action: 'changedevice', nodeid: admin.device, name: 'Renamed' })
    await page.message((message) => message.action === 'event' && includes(message, 'Renamed'))
    // At a login, the server writes its own copy of the account. The copy must include the move.
    const pageAgain = await openPage(second, await signedIn(second, person))
    expect(includes(await pageAgain.ask('nodes'), admin.device)).to.equal(true)
    expect(includes(await pageAtFirst.ask('nodes'), admin.device)).to.equal(true)
    expect(includes(await pageAtFirst.ask('usergroups'), admin.id)).to.equal(false)
    // MeshCentral's own event that closes a page makes its peers crash.
    expect(peers.map((peer) => peer.server().isUp())).to.deep.equal([true, true])
    for (const socket of [admin.page, page, oldPage, pageAtFirst, pageAgain]) socket.close()
  }).timeout(LIMIT_MS)

  it("a back-channel logout at one peer ends the user's sessions at both peers", async () => {
    const [first, second] = peers as [MeshSetup, MeshSetup]
    const person = first.person()
    const browser = await signedIn(first, person)
    await knowsPerson(second, browser)
    expect(await isSignedIn(second, browser)).to.equal(true)
    const pages = [await openPage(first, browser), await openPage(second, browser)]
    expect(await second.endSessions({ sub: person.sub })).to.be.oneOf([200, 204])
    await until('both pages to be closed', () => pages.every((page) => !page.isOpen()), LIMIT_MS)
    expect(await isSignedIn(first, browser)).to.equal(false)
    expect(await isSignedIn(second, browser)).to.equal(false)
  }).timeout(3 * LIMIT_MS)
})
