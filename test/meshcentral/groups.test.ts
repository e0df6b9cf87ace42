import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { pluginLines } from './support/auth-log.ts'
import { type ControlSocket, openPage } from './support/control-socket.ts'
import { useLaboratory } from './support/laboratory.ts'
import { type MeshSetup, type Person, setUpMesh, userKey } from './support/mesh-setup.ts'
import { isApp, isSignedIn, messageOn, signedIn, signIn } from './support/session.ts'
import { until } from './support/until.ts'

useLaboratory()

interface Group {
  readonly _id: string
  readonly name: string
  readonly domain: string
  readonly membershipType?: string
  readonly links?: Readonly<Record<string, { readonly name: string; readonly rights: number }>>
}

describe('user groups in MeshCentral', () => {
  let setup: MeshSetup
  const pages: ControlSocket[] = []
  const mirrors = { sync: true, siteadmin: ['mesh-admins'] }

  before(async () => {
    setup = await setUpMesh({
      domains: {
        '': { oidc: { groups: mirrors } },
        other: { oidc: { groups: { sync: true } } },
        chosen: { oidc: { groups: { sync: { filter: ['day', 'night'] }, siteadmin: ['mesh-admins'] } } },
        none: { oidc: { groups: { sync: false, siteadmin: ['mesh-admins'] } } },
        claim: {
          oidc: { groups: { sync: true, claim: 'departments' }, custom: { scope: 'openid profile departments' } },
        },
        staff: { oidc: { groups: { required: ['staff'] } } },
        hand: { oidc: { groups: { sync: false, siteadmin: ['mesh-admins'] } } },
      },
      idp: { scopes: { departments: ['departments'] } },
    })
  })
  after(() => setup?.close())
  afterEach(() => {
    for (const page of pages.splice(0)) page.close()
  })

  const open = async (person: Person, domain = '') => {
    const page = await openPage(setup, await signedIn(setup, person, domain), domain)
    pages.push(page)
    return page
  }
  const login = async (person: Person, claims: Record<string, unknown> = {}, domain = '') => {
    expect(isApp(await signIn(setup, setup.browser(), setup.person(claims, person), { domain }))).to.equal(true)
  }
  /** As site admins see them in the list of user groups. */
  const shown = async (page: ControlSocket) =>
    Object.values(((await page.ask('usergroups')).ugroups ?? {}) as Record<string, Group>)
  const watcher = (domain = '') => open(setup.person({ groups: ['mesh-admins'] }), domain)
  const membersOf = (groups: readonly Group[], name: string) =>
    Object.values(groups.find((group) => group.name === name)?.links ?? {}).map((link) => link.name)
  const eventOf = (page: ControlSocket, is: (event: Record<string, unknown>) => boolean) =>
    page.message(({ action, event }) => action === 'event' && is(event as Record<string, unknown>))

  it('that are required: who is refused for being in none any more is out in all other browsers too, pages and all', async () => {
    const [person, other] = [setup.person({ groups: ['staff'] }), setup.person({ groups: ['staff'] })]
    const elsewhere = await signedIn(setup, person, 'staff')
    const page = await openPage(setup, elsewhere, 'staff')
    const bystander = await open(other, 'staff')
    pages.push(page)
    const refused = setup.browser()
    expect(messageOn(await signIn(setup, refused, setup.person({ groups: [] }, person), { domain: 'staff' }))).to.equal(
      111,
    )
    await until('the server to close the socket', () => !page.isOpen())
    expect(await isSignedIn(setup, elsewhere, 'staff')).to.equal(false)
    expect(bystander.isOpen()).to.equal(true)
    const [line] = await until('the line', async () => {
      const lines = (await pluginLines(setup)).filter(({ event }) => event === 'refused-user-signed-out')
      return lines.length > 0 && lines
    })
    expect([line?.domain, line?.fields.user]).to.deep.equal(['staff', `~oidc:${person.sub}`])
  })

  it('are made for groups of the IdP, with their members, and open pages hear of both', async () => {
    const page = await watcher()
    const person = setup.person({ groups: ['fresh one', 'fresh two'] })
    await login(person)
    for (const name of ['fresh one', 'fresh two']) {
      await eventOf(page, (event) => event.action === 'createusergroup' && event.name === name)
      await eventOf(page, (event) => event.action === 'usergroupchange' && event.name === name && event.msgid === 71)
    }
    const groups = await shown(page)
    expect(membersOf(groups, 'fresh one')).to.deep.equal([person.name])
    expect(groups.find(({ name }) => name === 'fresh one')).to.include({ membershipType: 'oidc', domain: '' })
    expect(JSON.stringify(groups.find(({ name }) => name === 'fresh two')?.links)).to.equal(
      JSON.stringify({ [userKey(person)]: { userid: userKey(person), name: person.name, rights: 1 } }),
    )
  })

  it('are left at the next login, and open pages hear of it', async () => {
    const page = await watcher()
    const person = setup.person({ groups: ['leaving', 'staying'] })
    await login(person)
    await login(person, { groups: ['staying'] })
    await eventOf(page, (event) => event.name === 'leaving' && event.msgid === 72)
    const groups = await shown(page)
    expect([membersOf(groups, 'leaving'), membersOf(groups, 'staying')]).to.deep.equal([[], [person.name]])
  })

  it('change for a page that its own user has open', async () => {
    const person = setup.person({ groups: [] })
    const page = await open(person)
    await login(person, { groups: ['joined elsewhere'] })
    const change = await eventOf(page, ({ action, msgid }) => action === 'accountchange' && msgid === 67)
    const { account } = change.event as { account: { links: object } }
    expect(Object.keys(account.links)).to.have.length(1)
  })

  it('are one for all members, kept apart from those of other domains', async () => {
    const page = await watcher()
    const people = [setup.person({ groups: ['shared'] }), setup.person({ groups: ['shared'] })]
    for (const person of people) await login(person)
    await login(setup.person({ groups: ['shared'] }), {}, 'other')
    expect(membersOf(await shown(page), 'shared').toSorted()).to.deep.equal(people.map(({ name }) => name).toSorted())
    const records = await until('both groups to be written', async () => {
      const found = [...(await setup.data.records()).values()].filter(({ name }) => name === 'shared')
      return found.length > 1 && found
    })
    expect(records.map(({ domain }) => domain).toSorted()).to.deep.equal(['', 'other'])
  })

  it('are only those that the filter names', async () => {
    const person = setup.person({ groups: ['day', 'weekend'] })
    await login(person, {}, 'chosen')
    const { links } = await setup.account(person, 'chosen', (record) => record.links !== undefined)
    expect(Object.keys(links as object)).to.have.length(1)
    const names = [...(await setup.data.records()).values()].filter(({ domain }) => domain === 'chosen')
    expect(names.map(({ name }) => name))
      .to.include('day')
      .and.not.to.include('weekend')
  })

  it('are not made without sync', async () => {
    const person = setup.person({ groups: ['unwanted'] })
    await login(person, {}, 'none')
    expect((await setup.account(person, 'none')).links).to.equal(undefined)
  })

  it('come from the claim that is configured', async () => {
    const person = setup.person({ departments: ['Radio'], groups: ['not this one'] })
    await login(person, {}, 'claim')
    await until('the group', async () =>
      [...(await setup.data.records()).values()].some(({ name, domain }) => name === 'Radio' && domain === 'claim'),
    )
  })

  it('stay as they are when the claim has an unusable type', async () => {
    const person = setup.person({ groups: ['kept'] })
    await login(person)
    await login(person, { groups: [7], name: 'Kept In' })
    const { links } = await setup.account(person, '', ({ name }) => name === 'Kept In')
    expect(Object.keys(links as object)).to.have.length(1)
    expect((await pluginLines(setup)).some(({ event }) => event === 'memberships-unknown')).to.equal(true)
  })

  it('bear any name that a group can have', async () => {
    const names = ['a/b', 'ü ß 漢', '<b>bold</b>', '$set', 'x.y', '__proto__', 'constructor', "it's"]
    const page = await watcher()
    const person = setup.person({ groups: names })
    await login(person)
    const groups = await shown(page)
    const shownNames = names.map((name) => (name === '<b>bold</b>' ? '‹b›bold‹/b›' : name))
    for (const name of shownNames) expect(membersOf(groups, name), name).to.deep.equal([person.name])
    await login(person, { groups: [] })
    for (const name of shownNames) expect(membersOf(await shown(page), name), name).to.deep.equal([])
  })

  it('that were deleted by hand come back at the next login, and so do members whose account was deleted', async () => {
    const page = await watcher()
    const person = setup.person({ groups: ['deleted', 'outlives'] })
    await login(person)
    // MeshCentral deletes no mirrored group that has members.
    await login(person, { groups: ['outlives'] })
    const deleted = (await shown(page)).find(({ name }) => name === 'deleted')
    page.send({ action: 'deleteusergroup', ugrpid: deleted?._id })
    await eventOf(page, ({ action, ugrpid }) => action === 'deleteusergroup' && ugrpid === deleted?._id)
    await login(person, { groups: ['deleted', 'outlives'] })
    expect(membersOf(await shown(page), 'deleted')).to.deep.equal([person.name])

    page.send({ action: 'deleteuser', userid: userKey(person) })
    await eventOf(page, ({ action, userid }) => action === 'accountremove' && userid === userKey(person))
    await login(person)
    const groups = await shown(page)
    for (const name of ['deleted', 'outlives']) expect(membersOf(groups, name), name).to.deep.equal([person.name])
    const { links } = await setup.account(person, '', (record) => record.links !== undefined)
    expect(Object.keys(links as object)).to.have.length(2)
  })

  it('are refused when made by hand while all are mirrored, as MeshCentral does it', async () => {
    const page = await watcher()
    page.send({ action: 'createusergroup', name: 'By hand', responseid: 'refused' })
    const { result } = await page.message(({ responseid }) => responseid === 'refused')
    expect(result).to.match(/Not allowed in OIDC mode/)
  })

  it('may be made by hand where only some are mirrored, as MeshCentral does it', async () => {
    const page = await watcher('chosen')
    page.send({ action: 'createusergroup', name: 'Made beside', responseid: 'made' })
    expect((await page.message(({ responseid }) => responseid === 'made')).result).to.equal('ok')
  })

  it('have names that no page takes for markup or an escape, and stay known by those of the IdP', async () => {
    const person = setup.person({ groups: ['100% <img src=x onerror=alert(1)>'] })
    await login(person)
    const name = '100％ ‹img src=x onerror=alert(1)›'
    const mirrored = async () => [...(await setup.data.records()).values()].filter((one) => one.name === name)
    await until('the group', async () => ((await mirrored()).length === 1 ? true : undefined))
    await login(person)
    const { fields } = (await pluginLines(setup)).findLast(({ event }) => event === 'login') ?? {}
    expect(fields).to.not.have.any.keys('joined', 'left')
    await login(person, { groups: [] })
    await setup.account(person, '', ({ links }) => Object.keys((links ?? {}) as object).length === 0)
  })

  it('made by hand are never taken over but stand beside, and can be given to new accounts', async () => {
    const page = await watcher('hand')
    page.send({ action: 'createusergroup', name: 'operators', responseid: 'made' })
    expect((await page.message(({ responseid }) => responseid === 'made')).result).to.equal('ok')
    const made = await until('the group', async () =>
      [...(await setup.data.records()).values()].find(({ name, domain }) => name === 'operators' && domain === 'hand'),
    )
    await setup.restart({
      domains: {
        '': { oidc: { groups: mirrors } },
        hand: { oidc: { groups: mirrors, newAccountsUserGroups: [made._id.split('/')[2]] } },
        domain: { members: { newAccountsUserGroups: ['nothing'] } },
      },
    })
    const person = setup.person({ groups: ['operators', 'mirrored'] })
    await login(person, {}, 'hand')
    const { links } = await setup.account(
      person,
      'hand',
      (record) => Object.keys((record.links ?? {}) as object).length === 3,
    )
    expect(Object.keys(links as object)).to.include(made._id.replaceAll('$', '%24'))
    const { fields } = (await pluginLines(setup)).findLast(({ event }) => event === 'login') ?? {}
    expect(fields).to.deep.include({ joined: ['operators', 'mirrored'] })

    await login(person, { groups: [] }, 'hand')
    const after = await setup.account(
      person,
      'hand',
      (record) => Object.keys((record.links ?? {}) as object).length === 1,
    )
    expect(Object.keys(after.links as object)).to.deep.equal([made._id.replaceAll('$', '%24')])
    await signedIn(setup, setup.person(), 'domain')
  })

  it('that the built-in strategy marked with the name of a preset are left as well', async () => {
    const person = setup.person({ groups: ['from azure'] })
    await login(person)
    const record = await until('the group', async () =>
      [...(await setup.data.records()).values()].find(({ name }) => name === 'from azure'),
    )
    await setup.account(person, '', ({ links }) => links !== undefined)
    await setup.restart({}, async () => {
      const marked = { ...record, membershipType: 'azure' }
      await appendFile(join(setup.data.path, 'meshcentral.db'), `${JSON.stringify(marked)}\n`)
    })
    await login(person, { groups: [] })
    await setup.account(person, '', ({ links }) => Object.keys((links ?? {}) as object).length === 0)
  })
})
