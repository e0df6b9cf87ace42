import { expect } from 'chai'
import { type ControlSocket, openPage } from './support/control-socket.ts'
import { useLaboratory } from './support/laboratory.ts'
import { type MeshSetup, type Person, setUpMesh, userKey } from './support/mesh-setup.ts'
import { isApp, signedIn, signIn } from './support/session.ts'

useLaboratory()

const FULL = 0xffffffff

describe('the rights of a site admin', () => {
  let setup: MeshSetup
  const pages: ControlSocket[] = []

  before(async () => {
    setup = await setUpMesh({
      domains: {
        '': { oidc: { groups: { siteadmin: ['mesh-admins', 'owners'] } } },
        ungrouped: {},
        some: { oidc: { groups: { siteadmin: ['mesh-admins'] } }, members: { newAccountsRights: ['notools'] } },
        full: { oidc: { groups: { siteadmin: ['mesh-admins'] } }, members: { newAccountsRights: ['fulladmin'] } },
      },
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
  let orders = 0
  /** Whether the server does for the page what it does for site admins only. */
  const mayMakeGroups = async (page: ControlSocket) => {
    orders += 1
    const responseid = `order${orders}`
    page.send({ action: 'createusergroup', name: `By hand ${orders}`, responseid })
    const { result } = await page.message((message) => message.responseid === responseid)
    return result === 'ok'
  }
  const login = async (person: Person, claims: Record<string, unknown>, domain = '') => {
    expect(isApp(await signIn(setup, setup.browser(), setup.person(claims, person), { domain }))).to.equal(true)
  }
  const changed = (page: ControlSocket, person: Person, siteadmin: number | undefined) =>
    page.message(({ action, event }) => {
      const {
        action: what,
        userid,
        account,
      } = (event ?? {}) as {
        action?: string
        userid?: string
        account?: { siteadmin?: number }
      }
      return (
        action === 'event' && what === 'accountchange' && userid === userKey(person) && account?.siteadmin === siteadmin
      )
    })

  it('are there from the first login on', async () => {
    const person = setup.person({ groups: ['owners'] })
    const page = await open(person)
    expect(page.user.siteadmin).to.equal(FULL)
    expect(await mayMakeGroups(page)).to.equal(true)
    expect((await setup.account(person)).siteadmin).to.equal(FULL)
  })

  it('are granted at once in a page that is open', async () => {
    const person = setup.person({ groups: ['others'] })
    const page = await open(person)
    expect(await mayMakeGroups(page)).to.equal(false)
    await login(person, { groups: ['mesh-admins'] })
    await changed(page, person, FULL)
    expect(await mayMakeGroups(page)).to.equal(true)
    await setup.account(person, '', ({ siteadmin }) => siteadmin === FULL)
  })

  it('are revoked at once in a page that is open', async () => {
    const person = setup.person({ groups: ['mesh-admins'] })
    const page = await open(person)
    expect(await mayMakeGroups(page)).to.equal(true)
    await login(person, { groups: [] })
    await changed(page, person, undefined)
    expect(await mayMakeGroups(page)).to.equal(false)
    await setup.account(person, '', ({ siteadmin }) => siteadmin === undefined)
  })

  it('that were given by hand stay where no group decides', async () => {
    const person = setup.person({ groups: [] })
    await signedIn(setup, person, 'ungrouped')
    await setup.account(person, 'ungrouped')
    const admin = setup.person()
    await signedIn(setup, admin, 'ungrouped')
    await setup.account(admin, 'ungrouped')
    await setup.restart({}, async () => {
      const { appendFile } = await import('node:fs/promises')
      for (const one of [person, admin]) {
        const record = { ...(await setup.account(one, 'ungrouped')), siteadmin: FULL }
        await appendFile(`${setup.data.path}/meshcentral.db`, `${JSON.stringify(record)}\n`)
      }
    })
    const page = await open(person, 'ungrouped')
    expect(page.user.siteadmin).to.equal(FULL)
    await login(admin, { name: 'Still An Admin' }, 'ungrouped')
    const record = await setup.account(admin, 'ungrouped', ({ name }) => name === 'Still An Admin')
    expect(record.siteadmin).to.equal(FULL)
  })

  it('do not touch the other rights of somebody who has none of them', async () => {
    const person = setup.person({ groups: [] })
    await signedIn(setup, person, 'some')
    await login(person, { name: 'Once More' }, 'some')
    const record = await setup.account(person, 'some', ({ name }) => name === 'Once More')
    expect(record.siteadmin).to.equal(128)
  })

  it('that every new account gets are revoked from those who are in no admin group', async () => {
    const person = setup.person({ groups: [] })
    await signedIn(setup, person, 'full')
    expect((await setup.account(person, 'full')).siteadmin).to.equal(undefined)
  })
})
