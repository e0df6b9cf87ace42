import { expect } from 'chai'
import type { Fetch } from '../../../../plugin/provider/http/limited-fetch.ts'
import { createKeySet, type KeySet } from '../../../../plugin/provider/issuer/key-set.ts'
import { errorOf } from '../../../support/error-of.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

const ADDRESS = 'https://idp.test/jwks'

describe('the key set of an IdP', () => {
  const open: KeySet[] = []
  afterEach(() => {
    for (const keySet of open.splice(0)) keySet.close()
  })

  /** Serves one set after the other, the last one again and again. */
  function serve(sets: readonly (readonly string[] | Response | Error)[]) {
    const clock = new FakeClock()
    const asked: number[] = []
    const fetch: Fetch = async () => {
      const set = sets[Math.min(asked.length, sets.length - 1)]
      asked.push(clock.elapsed())
      if (set instanceof Error) throw set
      if (set instanceof Response) return set.clone()
      return Response.json({ keys: set?.map((kid) => ({ kty: 'oct', kid })) })
    }
    const keySet = createKeySet({ fetch, clock })
    open.push(keySet)
    return { keySet, clock, asked, ids: async (kid?: string) => idsIn(await keySet.current(ADDRESS, kid)) }
  }
  const idsIn = ({ jwks }: Awaited<ReturnType<KeySet['current']>>) => jwks.keys.map(({ kid }) => kid)
  const failure = async (promise: Promise<unknown>) => (await errorOf<{ code?: string }>(promise))?.code

  it('is asked for once a second, however many need it', async () => {
    const { keySet, clock, asked, ids } = serve([['a'], ['b']])
    await Promise.all(Array.from({ length: 400 }, () => keySet.current(ADDRESS)))
    await clock.advance(999)
    expect(await ids()).to.deep.equal(['a'])
    expect(asked).to.have.length(1)
    await clock.advance(1)
    expect(await ids()).to.deep.equal(['b'])
    expect(asked).to.have.length(2)
  })

  it('keeps what was made of it while the same is published, and nothing of it once that changes', async () => {
    const { keySet, clock, asked } = serve([['a'], ['a'], ['b'], ['a']])
    const found: Awaited<ReturnType<KeySet['current']>>[] = []
    for (; found.length < 4; await clock.advance(1_000)) found.push(await keySet.current(ADDRESS))
    expect(asked).to.have.length(4)
    expect(found[1]?.find).to.equal(found[0]?.find)
    expect(found.slice(1).map(idsIn)).to.deep.equal([['a'], ['b'], ['a']])
    expect(found[3]?.find).to.not.equal(found[0]?.find)
  })

  // Shows: plugin 9.20.
  it('is looked at a second time for a key that it lacks, by all who wait together and no sooner than a second later', async () => {
    const { clock, asked, ids } = serve([['a'], ['a', 'b'], ['c']])
    const found = Promise.all([ids('b'), ids('b'), ids('x'), ids('a')])
    await clock.advance(10_000)
    expect(await found).to.deep.equal([['a', 'b'], ['a', 'b'], ['a', 'b'], ['a']])
    expect(asked).to.deep.equal([0, 1_000])
  })

  it('is looked at a second time whatever was asked for just before', async () => {
    const { clock, asked, ids } = serve([['a'], ['b'], ['c']])
    for (const kid of ['b', 'c']) {
      const found = ids(kid)
      await clock.advance(1_000)
      expect(await found).to.deep.equal([kid])
    }
    expect(asked).to.have.length(3)
  })

  it('that could not be had is not held against whoever comes later', async () => {
    const { clock, asked, ids, keySet } = serve([new Error('down'), ['a']])
    const together = await Promise.all([failure(keySet.current(ADDRESS)), failure(keySet.current(ADDRESS))])
    expect(together).to.deep.equal(['provider_unreachable', 'provider_unreachable'])
    const later = ids()
    await clock.advance(1_000)
    expect(await later).to.deep.equal(['a'])
    expect(asked).to.have.length(2)
  })

  it('stays what was asked for last when an answer from before comes after it', async () => {
    const clock = new FakeClock()
    const answers: ((kid: string) => void)[] = []
    const fetch: Fetch = () =>
      new Promise((resolve) => answers.push((kid) => resolve(Response.json({ keys: [{ kty: 'oct', kid }] }))))
    const keySet = createKeySet({ fetch, clock })
    open.push(keySet)
    const before = keySet.current(ADDRESS)
    await clock.advance(1_000)
    const after = keySet.current(ADDRESS)
    while (answers.length < 2) await Promise.resolve()
    answers[1]?.('new')
    await after
    answers[0]?.('old')
    await before
    const atHand = keySet.atHand(ADDRESS, 0)
    expect(atHand && idsIn(atHand)).to.deep.equal(['new'])
  })

  it('is unreachable with any status but 200, and of no use with anything but keys', async () => {
    for (const [answer, code] of [
      [new Response('', { status: 500 }), 'provider_unreachable'],
      [new Response('', { status: 302 }), 'provider_unreachable'],
      [new Response('no JSON'), 'id_token_invalid'],
      [Response.json({ keys: 7 }), 'id_token_invalid'],
      [Response.json({ keys: [] }), 'id_token_invalid'],
    ] as const) {
      expect(await failure(serve([answer]).keySet.current(ADDRESS))).to.equal(code)
    }
  })

  it('is at hand for as long as is asked for, from the last time that it was of use', async () => {
    const { keySet, clock, ids } = serve([['a'], new Error('down')])
    expect(keySet.atHand(ADDRESS, 5_000)).to.equal(undefined)
    await ids()
    await clock.advance(5_000)
    await failure(keySet.current(ADDRESS))
    expect(idsIn(keySet.atHand(ADDRESS, 5_000)!)).to.deep.equal(['a'])
    expect(keySet.atHand('https://idp.test/other', 5_000)).to.equal(undefined)
    await clock.advance(1)
    expect(keySet.atHand(ADDRESS, 5_000)).to.equal(undefined)
  })

  it('lets nobody wait after it was closed', async () => {
    const { keySet, asked, ids } = serve([['a']])
    await ids()
    const waiting = failure(keySet.current(ADDRESS, 'b'))
    await new Promise((resolve) => setImmediate(resolve))
    keySet.close()
    expect(await waiting).to.equal('provider_unreachable')
    expect(asked).to.have.length(1)
  })
})
