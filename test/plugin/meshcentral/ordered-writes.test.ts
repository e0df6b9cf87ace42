import { expect } from 'chai'
import { orderWrites } from '../../../plugin/meshcentral/ordered-writes.ts'
import type { MeshDatabase } from '../../../plugin/meshcentral/server.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { databaseOf } from './stand-in.ts'

describe('writes of one MeshCentral record', () => {
  /** Writes that the database has received. The test answers each of them. */
  let writes: { readonly content: unknown; readonly answer: (error?: unknown) => void }[]
  let db: MeshDatabase
  let clock: FakeClock
  /** Outcomes of the writes, in the order in which they arrived. */
  let outcomes: unknown[]
  beforeEach(() => {
    writes = []
    outcomes = []
    clock = new FakeClock()
    // Some databases pass more arguments than an error.
    const take = (content: unknown, done?: (error?: unknown, rows?: unknown) => void) =>
      void writes.push({ content, answer: (error) => done?.(error, []) })
    db = { ...databaseOf(), Set: take, Remove: take }
    orderWrites(db, clock)
  })
  const set = (_id: string, state: number) => db.Set({ _id, state }, (error) => outcomes.push([state, error]))
  const answer = async (nth: number, error?: unknown) => {
    writes[nth]?.answer(error)
    await new Promise(setImmediate)
  }
  const writtenContents = () =>
    writes.map(({ content }) => (typeof content === 'string' ? content : Reflect.get(content as object, 'state')))

  it('writes of a record run one at a time; of waiting writes, only the newest runs', async () => {
    for (const state of [1, 2, 3]) set('user//~oidc:1', state)
    set('ugrp//one', 4)
    expect(writtenContents()).to.deep.equal([1, 4])
    await answer(0)
    expect(writtenContents()).to.deep.equal([1, 4, 3])
    const failure = new Error('full')
    await answer(2, failure)
    expect(outcomes.map((outcome) => (outcome as unknown[])[0])).to.deep.equal([1, 2, 3])
    for (const [state, error] of outcomes as [number, Error][]) {
      expect(error?.cause, String(state)).to.equal(state === 1 ? undefined : failure)
    }
    set('user//~oidc:1', 5)
    expect(writtenContents().at(-1)).to.equal(5)
  })

  it('removing a record waits for the running write, and cancels writes that wait', async () => {
    const id = 'meshcompaniontokens/one'
    set(id, 1)
    set(id, 2)
    db.Remove(id)
    await answer(0)
    expect(writtenContents()).to.deep.equal([1, id])
    set(id, 3)
    await answer(1)
    expect(writtenContents()).to.deep.equal([1, id, 3])
  })

  it('device records are written at once; others wait up to 30 s for an earlier write', async () => {
    set('user//~oidc:1', 1)
    set('user//~oidc:1', 2)
    for (const state of [3, 4]) set('node//device', state)
    expect(writtenContents()).to.deep.equal([1, 3, 4])
    await clock.advance(30_000)
    expect(writtenContents()).to.deep.equal([1, 3, 4, 2])
  })
})
