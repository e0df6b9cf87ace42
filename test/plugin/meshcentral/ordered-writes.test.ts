import { expect } from 'chai'
import { orderWrites } from '../../../plugin/meshcentral/ordered-writes.ts'
import type { MeshDatabase } from '../../../plugin/meshcentral/server.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { databaseOf } from './stand-in.ts'

describe('writes of one record of MeshCentral', () => {
  /** What the database has been given, each of which it answers when the test does. */
  let given: { readonly what: unknown; readonly answer: (error?: unknown) => void }[]
  let db: MeshDatabase
  let clock: FakeClock
  /** Outcomes of those that were called for, in the order in which they came. */
  let told: unknown[]
  beforeEach(() => {
    given = []
    told = []
    clock = new FakeClock()
    // Some databases tell more than whether it went well.
    const take = (what: unknown, done?: (error?: unknown, rows?: unknown) => void) =>
      void given.push({ what, answer: (error) => done?.(error, []) })
    db = { ...databaseOf(), Set: take, Remove: take }
    orderWrites(db, clock)
  })
  const set = (_id: string, state: number) => db.Set({ _id, state }, (error) => told.push([state, error]))
  const answer = async (nth: number, error?: unknown) => {
    given[nth]?.answer(error)
    await new Promise(setImmediate)
  }
  const whatIsGiven = () =>
    given.map(({ what }) => (typeof what === 'string' ? what : Reflect.get(what as object, 'state')))

  it('reach the database one after the other, of those that wait the newest alone, and all of them hear of it', async () => {
    for (const state of [1, 2, 3]) set('user//~oidc:1', state)
    set('ugrp//one', 4)
    expect(whatIsGiven()).to.deep.equal([1, 4])
    await answer(0)
    expect(whatIsGiven()).to.deep.equal([1, 4, 3])
    const failure = new Error('full')
    await answer(2, failure)
    expect(told.map((one) => (one as unknown[])[0])).to.deep.equal([1, 2, 3])
    for (const [state, error] of told as [number, Error][]) {
      expect(error?.cause, String(state)).to.equal(state === 1 ? undefined : failure)
    }
    set('user//~oidc:1', 5)
    expect(whatIsGiven().at(-1)).to.equal(5)
  })

  it('stay in order with a removal, which wins over what was to be written before it', async () => {
    const id = 'meshcompaniontokens/one'
    set(id, 1)
    set(id, 2)
    db.Remove(id)
    await answer(0)
    expect(whatIsGiven()).to.deep.equal([1, id])
    set(id, 3)
    await answer(1)
    expect(whatIsGiven()).to.deep.equal([1, id, 3])
  })

  it('do not wait for ever for one that is not answered, and those of devices not at all', async () => {
    set('user//~oidc:1', 1)
    set('user//~oidc:1', 2)
    for (const state of [3, 4]) set('node//device', state)
    expect(whatIsGiven()).to.deep.equal([1, 3, 4])
    await clock.advance(30_000)
    expect(whatIsGiven()).to.deep.equal([1, 3, 4, 2])
  })
})
