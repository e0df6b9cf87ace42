import { expect } from 'chai'
import type { Members, MeshDatabase } from '../../../../plugin/meshcentral/server.ts'
import { earlyCookieKey } from '../../../../plugin/meshcentral/start/cookie-key.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { databaseOf } from '../stand-in.ts'

const ID = 'LoginCookieEncryptionKey'
const MADE = Buffer.alloc(80, 'm')

describe("MeshCentral's key for cookies", () => {
  const rowsWith = (key?: string) => new Map<string, Members>(key === undefined ? [] : [[ID, { _id: ID, key }]])
  const setUp = async (db: MeshDatabase, loginCookieEncryptionKey: Buffer | null = null) => {
    const server = { db, loginCookieEncryptionKey, generateCookieKey: () => MADE }
    const key = earlyCookieKey(server, new FakeClock())
    // Waits some turns of the event loop, because the database answers a turn later.
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    return { server, key }
  }

  it('reads the cookie key from the database before MeshCentral itself has read it', async () => {
    const stored = Buffer.alloc(80, 's')
    const rows = rowsWith(stored.toString('hex'))
    const { server, key } = await setUp(databaseOf(rows))
    expect(key.get()).to.deep.equal(stored)
    const meshKey = Buffer.alloc(80, 'o')
    server.loginCookieEncryptionKey = meshKey
    expect(key.get()).to.equal(meshKey)
    expect(rows.get(ID)?.key).to.equal(stored.toString('hex'))
  })

  it('creates and stores a cookie key if neither database nor MeshCentral has one', async () => {
    for (const stored of [undefined, 'abcd']) {
      const rows = rowsWith(stored)
      expect((await setUp(databaseOf(rows))).key.get()).to.deep.equal(MADE)
      expect(rows.get(ID)?.key).to.equal(MADE.toString('hex'))
    }
    const rows = rowsWith()
    const meshKey = Buffer.alloc(80, 'o')
    expect((await setUp(databaseOf(rows), meshKey)).key.get()).to.equal(meshKey)
    expect(rows.size).to.equal(0)
  })

  it('uses and creates no cookie key if the database answers in an unknown form', async () => {
    const stored = { _id: ID, key: Buffer.alloc(80, 's').toString('hex') }
    for (const answer of [stored, [{ doc: stored }], null]) {
      const rows = rowsWith()
      const odd: MeshDatabase = { ...databaseOf(rows), Get: (_id, done) => done(null, answer) }
      const { key } = await setUp(odd)
      expect(key.get()).to.equal(undefined)
      expect(key.hasUnknownForm()).to.equal(true)
      expect(rows.size).to.equal(0)
    }
    const key = earlyCookieKey({ db: databaseOf() }, new FakeClock())
    await new Promise((resolve) => setImmediate(resolve))
    expect(key.get()).to.equal(undefined)
    expect(key.hasUnknownForm()).to.equal(false)
  })

  it('the plugin has no cookie key as long as the database fails', async () => {
    const failing: MeshDatabase = { ...databaseOf(), Get: (_id, done) => done(new Error('away')) }
    expect((await setUp(failing)).key.get()).to.equal(undefined)
  })
})
