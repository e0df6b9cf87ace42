import { expect } from 'chai'
import type { Fetch } from '../../../../plugin/provider/http/limited-fetch.ts'
import { createKeySet, type KeySet } from '../../../../plugin/provider/issuer/key-set.ts'
import { errorOf } from '../../../support/error-of.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { until } from '../../../support/until.ts'

const ADDRESS = 'https://idp.test/jwks'

describe('key set of an IdP', () => {
  const open: KeySet[] = []
  afterEach(() => {
    for (const keySet of open.splice(0)) keySet.close()
  })

  /** Serves one set after the other, and then repeats the last one. */
  function serve(sets: readonly (readonly string[] | Response | Error)[]) {
    const clock = new FakeClock()
    const requestTimes: number[] = []
    const fetch: Fetch = async () => {
      const set = sets[Math.min(requestTimes.length, sets.length - 1)]
      requestTimes.push(clock.elapsed())
      if (set instanceof Error) throw set
      if (set instanceof Response) return set.clone()
      return Response.json({ keys: set?.map((kid) => ({ kty: 'oct', kid })) })
    }
    const keySet = createKeySet({ fetch, clock })
    open.push(keySet)
    return { keySet, clock, requestTimes, ids: async (kid?: string) => idsIn(await keySet.current(ADDRESS, kid)) }
  }
  const idsIn = ({ jwks }: Awaited<ReturnType<KeySet['current']>>) => jwks.keys.map(({ kid }) => kid)
  const failure = async (promise: Promise<unknown>) => (await errorOf<{ code?: string }>(promise))?.code

  it('the key set is requested at most once a second, however many logins need it', async () => {
    const { keySet, clock, requestTimes, ids } = serve([['a'], ['b']])
    await Promise.all(Array.from({ length: 400 }, () => keySet.current(ADDRESS)))
    await clock.advance(999)
    expect(await ids()).to.deep.equal(['a'])
    expect(requestTimes).to.have.length(1)
    await clock.advance(1)
    expect(await ids()).to.deep.equal(['b'])
    expect(requestTimes).to.have.length(2)
  })

  it('keeps the imported keys while the IdP publishes the same key set', async () => {
    const { keySet, clock, requestTimes } = serve([['a'], ['a'], ['b'], ['a']])
    const results: Awaited<ReturnType<KeySet['current']>>[] = []
    for (; results.length < 4; await clock.advance(1_000)) results.push(await keySet.current(ADDRESS))
    expect(requestTimes).to.have.length(4)
    expect(results[1]?.find).to.equal(results[0]?.find)
    expect(results.slice(1).map(idsIn)).to.deep.equal([['a'], ['b'], ['a']])
    expect(results[3]?.find).to.not.equal(results[0]?.find)
  })

  // Shows: plugin 9.20.
  it('many ID tokens with an unknown key cause one new key set request, after a second', async () => {
    const { clock, requestTimes, ids } = serve([['a'], ['a', 'b'], ['c']])
    const results = Promise.all([ids('b'), ids('b'), ids('x'), ids('a')])
    await clock.advance(10_000)
    expect(await results).to.deep.equal([['a', 'b'], ['a', 'b'], ['a', 'b'], ['a']])
    expect(requestTimes).to.deep.equal([0, 1_000])
  })

  it('requests the key set again for each unknown key, even right after a request', async () => {
    const { clock, requestTimes, ids } = serve([['a'], ['b'], ['c']])
    for (const kid of ['b', 'c']) {
      const result = ids(kid)
      await clock.advance(1_000)
      expect(await result).to.deep.equal([kid])
    }
    expect(requestTimes).to.have.length(3)
  })

  it('requests the key set again after a failed request', async () => {
    const { clock, requestTimes, ids, keySet } = serve([new Error('down'), ['a']])
    const together = await Promise.all([failure(keySet.current(ADDRESS)), failure(keySet.current(ADDRESS))])
    expect(together).to.deep.equal(['provider_unreachable', 'provider_unreachable'])
    const later = ids()
    await clock.advance(1_000)
    expect(await later).to.deep.equal(['a'])
    expect(requestTimes).to.have.length(2)
  })

  it('keeps the newest key set if the answer to an earlier request arrives later', async () => {
    const clock = new FakeClock()
    const answers: ((kid: string) => void)[] = []
    const fetch: Fetch = () =>
      new Promise((resolve) => answers.push((kid) => resolve(Response.json({ keys: [{ kty: 'oct', kid }] }))))
    const keySet = createKeySet({ fetch, clock })
    open.push(keySet)
    const earlier = keySet.current(ADDRESS)
    await clock.advance(1_000)
    const later = keySet.current(ADDRESS)
    await until('the second request', () => answers.length === 2)
    answers[1]?.('new')
    await later
    answers[0]?.('old')
    await earlier
    const atHand = keySet.atHand(ADDRESS, 0)
    expect(atHand && idsIn(atHand)).to.deep.equal(['new'])
  })

  it('invalid key sets cause id_token_invalid, failed requests provider_unreachable', async () => {
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

  it('returns the last key set without a request if the caller accepts its age', async () => {
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

  it('closing the key set object rejects callers that still wait for keys', async () => {
    const { keySet, requestTimes, ids } = serve([['a']])
    await ids()
    const waiting = failure(keySet.current(ADDRESS, 'b'))
    await new Promise((resolve) => setImmediate(resolve))
    keySet.close()
    expect(await waiting).to.equal('provider_unreachable')
    expect(requestTimes).to.have.length(1)
  })
})
