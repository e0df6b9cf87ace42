import { expect } from 'chai'
import fc from 'fast-check'
import type { Store } from '../../../../sidecar/messages/store.ts'
import { propertyRuns } from '../../../support/property-runs.ts'
import { append, held, kindsOf, message, newer, register, SETTINGS } from '../sqlite/temporary-stores.ts'
import type { ContractStores } from './stores.ts'

const MINUTE = 60_000
const DAY = 1440 * MINUTE

/**
 * The contract of duplicates for every history. Call it inside a `describe`.
 *
 * @param runs of the property
 */
export function duplicatesContract(stores: ContractStores, runs = 50): void {
  let store: Store
  beforeEach(async () => {
    store = await stores.open()
    await register(store, 'N0CALL', 'W1AW')
  })

  async function reopenedWith(perStation: number): Promise<void> {
    await store.close()
    store = await stores.open({ history: { ...SETTINGS.history, perStation } })
  }

  // Shows: sidecar 2.4, 4.1, 16.1, C4.14.
  it('a duplicate has the same sender, addressee, sequence id and text', async () => {
    const variants = [{ from: 'W1AW-1' }, { to: 'W1AW' }, { seqId: '2' }].map((changes) => message('a', changes))
    expect(await kindsOf(store, 'a', ...variants, 'A', 'a')).to.deep.equal([...Array(5).fill('stored'), 'duplicate'])
  })

  for (const [name, seqId, horizon] of [
    ['a numbered message', '1', 120 * MINUTE],
    ['an unnumbered message', '', 30_000],
  ] as const) {
    // Shows: sidecar C1.14, C4.14, F1.21.
    it(`recognizes duplicates of ${name} for the configured time after it was stored`, async () => {
      let age = 0
      const kindAt = async (ms: number) => {
        await stores.shift(ms - age)
        age = ms
        return kindsOf(store, message('a', { seqId }), message('a', { seqId }))
      }
      expect(await kindAt(0)).to.deep.equal(['stored', 'duplicate'])
      expect(await kindAt(horizon - 1)).to.deep.equal(['duplicate', 'duplicate'])
      expect(await kindAt(horizon)).to.deep.equal(['stored', 'duplicate'])
    })
  }

  // Shows: sidecar C4.21.
  it('recognizes duplicates only for 2 hours, even after the clock ran far ahead', async () => {
    let ahead = 0
    const kindAt = async (ms: number) => {
      await stores.shift(ms - ahead)
      ahead = ms
      return (await kindsOf(store, 'a'))[0]
    }
    expect(await kindAt(30 * DAY)).to.equal('stored')
    expect(await kindAt(0)).to.equal('stored')
    expect(await kindAt(119 * MINUTE)).to.equal('duplicate')
    expect(await kindAt(DAY)).to.equal('stored')
    await reopenedWith(50)
    expect(await kindAt(DAY + 119 * MINUTE)).to.equal('duplicate')
    expect(await kindAt(2 * DAY)).to.equal('stored')
  })

  // Shows: sidecar C4.21.
  it('recognizes duplicates after the clock was set back by less than 2 hours', async () => {
    await append(store, 'a')
    await stores.shift(-119 * MINUTE)
    expect(await kindsOf(store, 'a')).to.deep.equal(['duplicate'])
    await stores.shift(-MINUTE)
    expect(await kindsOf(store, 'a')).to.deep.equal(['stored'])
  })

  // Shows: sidecar C4.21.
  it('recognizes duplicates of messages after a start with a wrong clock', async () => {
    await append(store, 'a', message('b', { to: 'W1AW' }))
    const real = stores.now()
    await stores.shift(-real)
    await reopenedWith(50)
    expect(await kindsOf(store, 'other')).to.deep.equal(['stored'])
    await stores.shift(real + MINUTE)
    expect(await kindsOf(store, 'a', message('b', { to: 'W1AW' }))).to.deep.equal(['duplicate', 'duplicate'])
  })

  // Shows: sidecar C4.22.
  it('a message with another reply-ack after its sequence id is still a duplicate', async () => {
    const kinds = async (...seqIds: readonly string[]) =>
      new Set(await kindsOf(store, ...seqIds.map((seqId) => message('a', { seqId }))))
    expect(await kinds('MM}', 'MN}AA', '}AA', '}AB')).to.deep.equal(new Set(['stored']))
    expect(await kinds('MM}AA', 'MM}AB')).to.deep.equal(new Set(['duplicate']))
    expect((await newer(store, 'N0CALL')).messages[0]?.seqId).to.equal('MM}')
  })

  // Shows: sidecar C4.22.
  it('ignores trailing blanks and control characters in the search for duplicates', async () => {
    const kinds = async (...texts: readonly string[]) =>
      new Set(await kindsOf(store, ...texts.map((text) => message(text, { seqId: '' }))))
    expect(await kinds('a', ' a', 'a b')).to.deep.equal(new Set(['stored']))
    expect(await kinds('a  ', 'a\0', 'a \x1c\x7f')).to.deep.equal(new Set(['duplicate']))
  })

  // Shows: sidecar C4.15.
  it('recognizes duplicates of dropped messages, in one batch and after restarts', async () => {
    await reopenedWith(2)
    const batch = ['a', 'b', 'a', 'c', 'a', 'd'].map((text) => message(text))
    const expected = ['stored', 'stored', 'duplicate', 'stored', 'duplicate', 'stored']
    expect(await kindsOf(store, ...batch)).to.deep.equal(expected)
    expect(await held(store)).to.deep.equal(['c', 'd'])
    await stores.shift(119 * MINUTE)
    for (let starts = 0; starts < 2; starts += 1) {
      await reopenedWith(2)
      expect(new Set(await kindsOf(store, ...batch))).to.deep.equal(new Set(['duplicate']))
    }
    await stores.shift(MINUTE)
    await reopenedWith(2)
    expect(await kindsOf(store, 'a')).to.deep.equal(['stored'])
  })

  it('recognizes duplicates of messages that the ring drops after a restart', async () => {
    await reopenedWith(2)
    await append(store, message('a', { seqId: '1' }), message('b', { seqId: '2' }))
    await reopenedWith(2)
    await append(store, message('c', { from: 'W2AW' }))
    expect(await kindsOf(store, message('a', { seqId: '1' }), message('b', { seqId: '2' }))).to.deep.equal([
      'duplicate',
      'duplicate',
    ])
  })

  it('forgets the known duplicates of a station that is removed', async () => {
    await reopenedWith(1)
    const both = [message('a'), message('b')]
    await append(store, ...both)
    for (let starts = 0; starts < 2; starts += 1) {
      await store.stations.remove('N0CALL')
      await register(store, 'N0CALL')
      expect(await kindsOf(store, ...both)).to.deep.equal(['stored', 'stored'])
      await reopenedWith(1)
    }
  })

  // Shows: sidecar 4.1.
  it('finds the same duplicates as a reference model, for any batches and restarts', async () => {
    await store.close()
    await agreesWithModel(stores, { restarts: true, runs })
  })
}

/**
 * Compares the store with a model, for any sequence of batches and any changes of the clock between them. `restarts`:
 * also over restarts, but with a clock that never goes back. Otherwise a dropped message could seem too old to be
 * saved, and would be unknown after a restart.
 */
export async function agreesWithModel(
  stores: ContractStores,
  { restarts, runs }: { readonly restarts: boolean; readonly runs: number },
): Promise<void> {
  const addressee = fc.constantFrom('N0CALL', 'W1AW', 'K9NONE')
  const draft = fc
    .tuple(fc.constantFrom('x', 'y'), fc.constantFrom('A', 'B'), addressee, fc.constantFrom('', '1'))
    .map(([text, from, to, seqId]) => message(text, { from, to, seqId }))
  const step = fc.record({
    laterByMs: fc.constantFrom(0, 0, 20_000, 70 * MINUTE, -70 * MINUTE, 30 * DAY, -30 * DAY),
    restart: fc.constantFrom(false, true),
    calls: fc.array(fc.array(draft, { maxLength: 6 }), { minLength: 1, maxLength: 3 }),
  })
  const open = () => stores.open({ history: { ...SETTINGS.history, perStation: 3 } })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
      await stores.wipe()
      let store = await open()
      await register(store, 'N0CALL', 'W1AW')
      const rings = new Map<string, string[]>([
        ['N0CALL', []],
        ['W1AW', []],
      ])
      const storedAt = new Map<string, number>()
      for (const { laterByMs, restart, calls } of steps) {
        await stores.shift(restarts ? Math.abs(laterByMs) : laterByMs)
        if (restart && restarts) {
          await store.close()
          store = await open()
        }
        const now = stores.now()
        const answers = await Promise.all(calls.map((call) => append(store, ...call)))
        for (const [index, { from, to, seqId, text }] of calls.flat().entries()) {
          const identity = `${from} ${seqId} ${text}`
          const ring = rings.get(to)
          const earlier = storedAt.get(`${to} ${identity}`) ?? Number.NEGATIVE_INFINITY
          const isKnown = Math.abs(now - earlier) < (seqId === '' ? 30_000 : 120 * MINUTE)
          if (ring && !isKnown) {
            storedAt.set(`${to} ${identity}`, now)
            ring.push(identity)
          }
          if (ring && ring.length > 3) ring.shift()
          expect(answers.flat()[index]?.kind).to.equal(ring ? (isKnown ? 'duplicate' : 'stored') : 'no_station')
        }
      }
      for (const [station, ring] of rings) {
        const { messages } = await newer(store, station)
        expect(messages.map(({ from, seqId, text }) => `${from} ${seqId} ${text}`)).to.deep.equal(ring)
      }
      await store.close()
    }),
    { numRuns: propertyRuns(runs) },
  )
}
