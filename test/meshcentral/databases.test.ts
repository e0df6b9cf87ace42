import { randomUUID } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { until } from '../support/until.ts'
import { pluginLines } from './support/auth-log.ts'
import { alteredProgram, type DbRecord } from './support/data-folder.ts'
import { DATABASES, OTHER_DATABASES, useDatabase } from './support/databases.ts'
import { type Person, userKey } from './support/mesh-setup.ts'
import { addDevice, openRelay } from './support/relay.ts'
import {
  answerOfIdp,
  authCookieOn,
  isApp,
  isSignedIn,
  messageOn,
  signedIn,
  signIn,
  thiefOf,
} from './support/session.ts'
import { closes, useMesh } from './support/use-mesh.ts'

const FULL = 0xffffffff

for (const kind of DATABASES) {
  const { longIds, isCaseSensitive, loginsAtOnce } = kind
  describe(`MeshCentral on ${kind.name}`, () => {
    const database = useDatabase(kind)
    /** File that records messages to device agents. The altered program stands in for every agent. */
    const toAgents = join(tmpdir(), `to-agents-${process.pid}`)
    const setup = useMesh(async () => ({
      database: database(),
      program: await alteredProgram(`web.wsagents = new Proxy(web.wsagents, { get: (all, id) =>
        all[id] ?? (String(id).startsWith('node/') ? { dbNodeKey: id, dbMeshKey: Object.keys(web.meshes).at(-1),
          send: (text) => require('fs').appendFileSync(${JSON.stringify(toAgents)}, text + '\\n') } : undefined) })`),
      domains: {
        '': { oidc: { groups: { sync: true, siteadmin: ['admins'] } }, members: { limits: { maxUserAccounts: 500 } } },
        few: { members: { limits: { maxUserAccounts: 1 } } },
      },
    }))
    after(() => rm(toAgents, { force: true }))

    /** Lets all people come back from the IdP at the same time and expects all to be signed in. */
    const signInAtOnce = async (people: readonly Person[]) => {
      const answers: (() => Promise<boolean>)[] = []
      for (const person of people) {
        const browser = setup.browser()
        const address = await answerOfIdp(setup, browser, person)
        answers.push(async () => isApp(await browser.get(address)))
      }
      const results = await Promise.all(answers.map((answer) => answer()))
      const refused = (await pluginLines(setup)).flatMap(({ event, line }) => (event === 'login-failed' ? [line] : []))
      expect(refused).to.deep.equal([])
      expect(results).to.deep.equal(people.map(() => true))
    }

    /** Returns a user's groups by both sides of the membership, and the admin right. */
    const stateOf = (person: Person, records: ReadonlyMap<string, DbRecord>) => {
      const linked = (record?: DbRecord) =>
        Object.keys((record?.links ?? {}) as object).map((link) => link.replaceAll('%24', '$').replaceAll('%2E', '.'))
      const user = records.get(userKey(person))
      const namesInUser = linked(user).map((id) => records.get(id)?.name)
      const groupsWithUser = [...records.values()].filter(
        (record) => record.type === 'ugrp' && linked(record).includes(userKey(person)),
      )
      return {
        inUser: namesInUser.sort(),
        inGroups: groupsWithUser.map((group) => group.name).sort(),
        siteadmin: user?.siteadmin ?? 0,
      }
    }
    const expectStates = async (people: readonly Person[], groups: (nth: number) => readonly string[]) => {
      const records = await setup.data.records()
      const states = people.map((_person, nth) => {
        const names = [...groups(nth)].sort()
        return { inUser: names, inGroups: names, siteadmin: names.includes('admins') ? FULL : 0 }
      })
      expect(people.map((person) => stateOf(person, records))).to.deep.equal(states)
    }

    it('many simultaneous logins leave accounts, groups and rights correct', async () => {
      const first = (nth: number) => ['everybody', `team ${nth % 7}`, ...(nth % 3 === 0 ? ['admins'] : [])]
      const people = Array.from({ length: loginsAtOnce }, (_, nth) => setup.person({ groups: first(nth) }))
      await signInAtOnce(people)
      await expectStates(people, first)
      const later = (nth: number) => [`team ${(nth + 1) % 7}`, ...(nth % 3 === 1 ? ['admins'] : [])]
      const changed = people.slice(0, 30)
      await signInAtOnce(changed.map((person, nth) => setup.person({ groups: later(nth) }, person)))
      await expectStates(changed, later)
    }).timeout(240_000)

    it('a first login beyond limits.maxUserAccounts fails with message 101', async () => {
      for (const expected of [null, 101]) {
        const page = await signIn(setup, setup.browser(), setup.person(), { domain: 'few' })
        expect(messageOn(page)).to.equal(expected)
      }
    })

    it('creates accounts only for ids that the database can store, and logs the remedy', async () => {
      const people = ['x'.repeat(255), 'LETTERS', 'letters'].map((sub) => {
        const person = { ...setup.person(), sub }
        setup.idp.setUser({ ...person, claims: { name: person.name } })
        return person
      })
      const results: boolean[] = []
      // Each signs in twice, since a refused login must leave nothing behind.
      for (const person of [...people, ...people]) results.push(isApp(await signIn(setup, setup.browser(), person)))
      const expected = [longIds, true, isCaseSensitive]
      expect(results).to.deep.equal([...expected, ...expected])
      await setup.restart()
      const records = await setup.data.records()
      expect(people.map((person) => records.get(userKey(person))?.name)).to.deep.equal(
        people.map((person, nth) => (expected[nth] ? person.name : undefined)),
      )
      const refused = (await pluginLines(setup)).filter(({ message }) => message.includes('custom.claims.uuid'))
      expect(refused).to.have.length(2 * expected.filter((isHeld) => !isHeld).length)
    })

    it('an account move transfers devices and rights to the new account', async () => {
      const [old, next] = [setup.person({ groups: ['admins'] }), setup.person()]
      const admin = await signedIn(setup, old)
      await addDevice(await setup.open(admin))
      await signedIn(setup, next)
      const page = `${setup.url}pluginadmin.ashx?pin=meshcompanion`
      const ids = { from: userKey(old), to: userKey(next) }
      const { body } = await admin.step(`${page}&page=move&${new URLSearchParams(ids).toString()}`)
      const token = /name="token" value="([^"]+)"/.exec(body)?.[1] ?? ''
      const answer = await admin.step(page, { form: Object.entries({ action: 'move', token, ...ids }) })
      expect(answer.headers.location).to.include('outcome=moved')
      await setup.restart()
      const { user } = await setup.open(await signedIn(setup, next))
      expect(Object.keys(user.links as object)).to.have.length.above(0)
    })

    it('ended sessions stay ended and other sessions continue after a restart', async () => {
      const [leaver, endedByIdp, bystander] = [setup.person(), setup.person(), setup.person()]
      const [first, second, remaining] = [
        await signedIn(setup, leaver),
        await signedIn(setup, endedByIdp),
        await signedIn(setup, bystander),
      ]
      const [page, secondPage] = [await setup.open(first), await setup.open(second)]
      const copies = [thiefOf(setup, first), thiefOf(setup, second)]
      await first.step(`${setup.url}logout`)
      expect(await setup.endSessions({ sub: endedByIdp.sub })).to.equal(200)
      await closes(page, secondPage)
      await setup.restart()
      for (const copy of copies) expect(await isSignedIn(setup, copy)).to.equal(false)
      for (const { auth } of [page, secondPage]) expect(await setup.verdictOn(auth)).to.equal('refused')
      expect(await isSignedIn(setup, remaining)).to.equal(true)
      const { headers } = await remaining.step(`${setup.url}logout`)
      expect(headers.location).to.include('id_token_hint=')
    })

    it('a guest keeps the tunnel if the user who shared the device and another sign out', async () => {
      const [maker, bystander] = [await signedIn(setup, setup.person()), await signedIn(setup, setup.person())]
      const bystanderPage = await setup.open(bystander)
      // A pool opens its connections only under load, so send many requests.
      for (let orders = 0; orders < 30; orders += 1) bystanderPage.send({ action: 'loginTokens' })
      const answered = () => bystanderPage.messages.filter(({ action }) => action === 'loginTokens').length
      await until('the answers', () => answered() >= 30)
      const page = await setup.open(maker)
      const device = await addDevice(page)
      await until('the device in the database', async () => (await setup.data.records()).has(device))
      const { url } = await page.ask('createDeviceShareLink', {
        ...{ nodeid: device, guestname: 'Guest', p: 2, consent: 0, expire: 60, responseid: 'share' },
      })
      // MeshCentral returns the address before it stores the share.
      const auth = await until('the page for guests', async () => authCookieOn(await setup.browser().step(String(url))))
      const id = randomUUID()
      const guest = setup.keep(openRelay(setup, { id, auth, p: '2', nodeid: device }))
      const deviceCookie = await until('the message to the device', async () => {
        const agentMessages = await readFile(toAgents, 'utf8').catch(() => '')
        return new RegExp(`id=${id}&rauth=([^"&]+)`).exec(agentMessages)?.[1]
      })
      const deviceEnd = setup.keep(openRelay(setup, { id, rauth: deviceCookie }))
      expect(await Promise.all([guest.verdict(), deviceEnd.verdict()])).to.deep.equal(['joined', 'joined'])
      const { cookie: renewed } = await page.ask('authcookie')

      await bystander.step(`${setup.url}logout`)
      await maker.step(`${setup.url}logout`)
      await closes(page, bystanderPage)
      expect(await guest.tell(deviceEnd, 'a picture')).to.equal('a picture')
      for (const cookie of [page.auth, String(renewed)]) expect(await setup.verdictOn(cookie)).to.equal('refused')
    })
  })
}

for (const kind of OTHER_DATABASES) {
  describe(`MeshCentral on ${kind.name}`, () => {
    const database = useDatabase(kind)
    const setup = useMesh(() => ({
      settings: database()?.settings ?? {},
      domains: { '': { oidc: { groups: { siteadmin: ['admins'] } } } },
    }))

    it('an account keeps its rights and its session after a restart', async () => {
      const person = setup.person({ groups: ['admins'] })
      const browser = await signedIn(setup, person)
      await setup.restart()
      const { user } = await setup.open(browser)
      expect(user).to.deep.include({ _id: userKey(person), name: person.name, siteadmin: FULL })
      expect(setup.server().isUp()).to.equal(true)
    })
  })
}
