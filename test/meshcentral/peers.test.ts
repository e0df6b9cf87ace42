import { expect } from 'chai'
import { until } from '../support/until.ts'
import { createAdministrator, moveAccount } from './support/account-moves.ts'
import { openPage } from './support/control-socket.ts'
import { type MeshSetup, userKey } from './support/mesh-setup.ts'
import { knowsPerson, usePeers } from './support/peers.ts'
import { isSignedIn, signedIn, thiefOf } from './support/session.ts'

/** A peer reads the records every 30 s, and later on a busy machine. */
const LIMIT_MS = 180_000

/** Whether a message has the text, such as an id. */
const has = (message: object, text: string) => JSON.stringify(message).includes(text)

describe('two peers of MeshCentral on mongo-java-server', () => {
  const peers = usePeers(['one', 'two'], { domains: { '': { members: { newAccounts: true } } } })

  it('an account move at one peer appears at once in open pages of the other peer', async () => {
    const [first, second] = peers as [MeshSetup, MeshSetup]
    // The first account of a domain is a site admin.
    const admin = await createAdministrator(first, 'tom')
    const person = first.person()
    const [to, browser] = [userKey(person), await signedIn(first, person)]
    for (const known of [admin.browser, browser]) await knowsPerson(second, known)
    const [page, oldPage] = [await openPage(second, browser), await openPage(second, admin.browser)]
    const answer = await moveAccount(first, admin.browser, { from: admin.id, to }, { lock: 'on' })
    expect(answer.headers.location).to.include('outcome=moved')
    await until('the device in the open page', async () => has(await page.ask('nodes'), admin.device))
    await until('the device group in the open page', async () => has(await page.ask('meshes'), to))
    await until('the members of the user group', async () => has(await page.ask('usergroups'), to))
    await until('the old page to be closed', () => !oldPage.isOpen())
    await until('the lock', async () => !(await isSignedIn(second, thiefOf(second, admin.browser))))
    // The page receives events on devices only if it was subscribed to them again.
    const pageAtFirst = await openPage(first, browser)
    pageAtFirst.send({ action: 'changedevice', nodeid: admin.device, name: 'Renamed' })
    await page.message((message) => message.action === 'event' && has(message, 'Renamed'))
    // A login writes the account from the memory of its server.
    const pageAgain = await openPage(second, await signedIn(second, person))
    expect(has(await pageAgain.ask('nodes'), admin.device)).to.equal(true)
    expect(has(await pageAtFirst.ask('nodes'), admin.device)).to.equal(true)
    expect(has(await pageAtFirst.ask('usergroups'), admin.id)).to.equal(false)
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
