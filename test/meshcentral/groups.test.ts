import { expect } from 'chai'
import type { ControlSocket } from './support/control-socket.ts'
import { type Person, userKey } from './support/mesh-setup.ts'
import { isApp, signedIn, signIn } from './support/session.ts'
import { useMesh } from './support/use-mesh.ts'

const FULL = 0xffffffff

interface Group {
  readonly _id: string
  readonly name: string
  readonly domain: string
  readonly membershipType?: string
  readonly links?: Readonly<Record<string, { readonly name: string; readonly rights: number }>>
}

describe('user groups in MeshCentral', () => {
  const mirrors = { sync: true, siteadmin: ['mesh-admins'] }
  const setup = useMesh({
    domains: {
      '': { oidc: { groups: mirrors } },
      chosen: { oidc: { groups: { sync: { filter: ['day', 'night'] }, siteadmin: ['mesh-admins'] } } },
      hand: { oidc: { groups: { sync: false, siteadmin: ['mesh-admins'] } } },
    },
  })

  const open = async (person: Person, domain = '') => setup.open(await signedIn(setup, person, domain), domain)
  const login = async (person: Person, claims: Record<string, unknown> = {}, domain = '') => {
    expect(isApp(await signIn(setup, setup.browser(), setup.person(claims, person), { domain }))).to.equal(true)
  }
  /** Returns the user groups as site admins see them in the list. */
  const listGroups = async (page: ControlSocket) =>
    Object.values(((await page.ask('usergroups')).ugroups ?? {}) as Record<string, Group>)
  const watcher = (domain = '') => open(setup.person({ groups: ['mesh-admins'] }), domain)
  const membersOf = (groups: readonly Group[], name: string) =>
    Object.values(groups.find((group) => group.name === name)?.links ?? {}).map((link) => link.name)
  const eventOf = (page: ControlSocket, matches: (event: Record<string, unknown>) => boolean) =>
    page.message(({ action, event }) => action === 'event' && matches(event as Record<string, unknown>))
  let orders = 0
  /** Returns the server's answer to a command that only site admins may send. */
  const makeGroup = async (page: ControlSocket, name: string) => {
    orders += 1
    const id = `order${orders}`
    page.send({ action: 'createusergroup', name, responseid: id })
    return (await page.message(({ responseid }) => responseid === id)).result
  }

  it('a login creates user groups, changes memberships and notifies open pages', async () => {
    const page = await watcher()
    const person = setup.person({ groups: ['fresh', 'leaving'] })
    await login(person)
    for (const name of ['fresh', 'leaving']) {
      await eventOf(page, (event) => event.action === 'createusergroup' && event.name === name)
      await eventOf(page, (event) => event.action === 'usergroupchange' && event.name === name && event.msgid === 71)
    }
    const groups = await listGroups(page)
    expect(groups.find(({ name }) => name === 'fresh')).to.include({ membershipType: 'oidc', domain: '' })
    expect(JSON.stringify(groups.find(({ name }) => name === 'leaving')?.links)).to.equal(
      JSON.stringify({ [userKey(person)]: { userid: userKey(person), name: person.name, rights: 1 } }),
    )
    const otherPerson = setup.person({ groups: ['fresh'] })
    await login(otherPerson)
    await login(setup.person({ groups: ['fresh'] }), {}, 'hand')
    await login(person, { groups: ['fresh'] })
    await eventOf(page, (event) => event.name === 'leaving' && event.msgid === 72)
    const groupsAfter = await listGroups(page)
    expect(membersOf(groupsAfter, 'leaving')).to.deep.equal([])
    expect(membersOf(groupsAfter, 'fresh')).to.deep.equal([person.name, otherPerson.name])
  })

  it('the next login recreates deleted user groups and memberships', async () => {
    const page = await watcher()
    const person = setup.person({ groups: ['deleted', 'outlives'] })
    await login(person)
    // MeshCentral refuses to delete a mirrored group with members.
    await login(person, { groups: ['outlives'] })
    const deleted = (await listGroups(page)).find(({ name }) => name === 'deleted')
    page.send({ action: 'deleteusergroup', ugrpid: deleted?._id })
    await eventOf(page, ({ action, ugrpid }) => action === 'deleteusergroup' && ugrpid === deleted?._id)
    await login(person, { groups: ['deleted', 'outlives'] })
    expect(membersOf(await listGroups(page), 'deleted')).to.deep.equal([person.name])

    page.send({ action: 'deleteuser', userid: userKey(person) })
    await eventOf(page, ({ action, userid }) => action === 'accountremove' && userid === userKey(person))
    await login(person)
    const groups = await listGroups(page)
    for (const name of ['deleted', 'outlives']) expect(membersOf(groups, name), name).to.deep.equal([person.name])
    await setup.account(person, '', ({ links }) => Object.keys(links ?? {}).length === 2)
  })

  it('an administrator can create user groups if groups.sync mirrors only some groups', async () => {
    expect(await makeGroup(await watcher(), 'By hand')).to.match(/Not allowed in OIDC mode/)
    expect(await makeGroup(await watcher('chosen'), 'Made beside')).to.equal('ok')
  })

  it('changed groups grant or revoke site admin in an open page at once', async () => {
    const person = setup.person({ groups: ['mesh-admins'] })
    const page = await open(person, 'hand')
    expect(page.user.siteadmin).to.equal(FULL)
    expect(await makeGroup(page, 'First')).to.equal('ok')
    const changes = async (groups: readonly string[], siteadmin: number | undefined) => {
      await login(person, { groups }, 'hand')
      await eventOf(page, ({ action, userid, account }) => {
        const changed = (account ?? {}) as { readonly siteadmin?: number }
        return action === 'accountchange' && userid === userKey(person, 'hand') && changed.siteadmin === siteadmin
      })
      await setup.account(person, 'hand', (record) => record.siteadmin === siteadmin)
    }
    await changes([], undefined)
    expect(await makeGroup(page, 'Second')).not.to.equal('ok')
    await changes(['mesh-admins'], FULL)
    expect(await makeGroup(page, 'Third')).to.equal('ok')
  })
})
