import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { DbRecord } from './support/data-folder.ts'
import { DATABASES, type Database } from './support/databases.ts'
import { INSTALL_LIMIT_MS } from './support/installation.ts'
import { laboratory } from './support/laboratory.ts'
import { type Person, userKey } from './support/mesh-setup.ts'
import { answerOfIdp, isApp, messageOn, signIn } from './support/session.ts'
import { useMesh } from './support/use-mesh.ts'

const FULL = 0xffffffff
const MANY = 100

for (const { name, driver, start } of DATABASES) {
  describe(`MeshCentral on ${name}`, () => {
    let database: Database | undefined
    before(async function () {
      this.timeout(INSTALL_LIMIT_MS + 400_000)
      const { installation } = await laboratory()
      // MeshCentral would install it into the folder of somebody else.
      const hasDriver = existsSync(join(installation, 'node_modules', driver))
      const started = hasDriver ? await start(installation) : `the installation of MeshCentral has no ${driver}`
      if (typeof started === 'string') {
        console.log(`    skipped: ${started}`)
        this.skip()
      }
      database = started
    })
    const setup = useMesh(() => ({
      ...(database ? { database } : {}),
      domains: {
        '': { oidc: { groups: { sync: true, siteadmin: ['admins'] } }, members: { limits: { maxUserAccounts: 500 } } },
        few: { members: { limits: { maxUserAccounts: 1 } } },
      },
    }))
    after(() => database?.close())

    /** All of them come back from the IdP at the same time. */
    const signInAtOnce = async (people: readonly Person[]) => {
      const answers: (() => Promise<boolean>)[] = []
      for (const person of people) {
        const browser = setup.browser()
        const address = await answerOfIdp(setup, browser, person)
        answers.push(async () => isApp(await browser.get(address)))
      }
      const isIn = await Promise.all(answers.map((answer) => answer()))
      expect(isIn).to.deep.equal(people.map(() => true))
    }

    /** What both sides of each membership say, and the right. */
    const stateOf = (person: Person, records: ReadonlyMap<string, DbRecord>) => {
      const linked = (record?: DbRecord) =>
        Object.keys((record?.links ?? {}) as object).map((link) => link.replaceAll('%24', '$').replaceAll('%2E', '.'))
      const user = records.get(userKey(person))
      const own = linked(user).map((id) => records.get(id)?.name)
      const bearing = [...records.values()].filter(
        (one) => one.type === 'ugrp' && linked(one).includes(userKey(person)),
      )
      return { own: own.sort(), bearing: bearing.map((group) => group.name).sort(), siteadmin: user?.siteadmin ?? 0 }
    }
    const expectStates = async (people: readonly Person[], groups: (nth: number) => readonly string[]) => {
      const records = await setup.data.records()
      const states = people.map((_person, nth) => {
        const names = [...groups(nth)].sort()
        return { own: names, bearing: names, siteadmin: names.includes('admins') ? FULL : 0 }
      })
      expect(people.map((person) => stateOf(person, records))).to.deep.equal(states)
    }

    it('keeps accounts, groups and rights as they are after a hundred first logins at once, and after changes at once', async () => {
      const first = (nth: number) => ['everybody', `team ${nth % 7}`, ...(nth % 3 === 0 ? ['admins'] : [])]
      const people = Array.from({ length: MANY }, (_, nth) => setup.person({ groups: first(nth) }))
      await signInAtOnce(people)
      await expectStates(people, first)
      const later = (nth: number) => [`team ${(nth + 1) % 7}`, ...(nth % 3 === 1 ? ['admins'] : [])]
      const some = people.slice(0, 30)
      await signInAtOnce(some.map((person, nth) => setup.person({ groups: later(nth) }, person)))
      await expectStates(some, later)
    }).timeout(120_000)

    it('makes no more accounts than limits.maxUserAccounts: message 101', async () => {
      for (const expected of [null, 101]) {
        const page = await signIn(setup, setup.browser(), setup.person(), { domain: 'few' })
        expect(messageOn(page)).to.equal(expected)
      }
    })
  })
}
