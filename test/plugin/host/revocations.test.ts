import { expect } from 'chai'
import fc from 'fast-check'
import type { SessionFilter, SignIn } from '../../../plugin/host/port.ts'
import { keysOfFilter, keysOfSignIn, memoryRevocations } from '../../../plugin/host/revocations.ts'
import { revocationStoreContract } from './revocation-store.contract.ts'

describe('revocations in memory', () => {
  let clock = 0
  const now = () => clock
  beforeEach(() => {
    clock = 1_000
  })

  revocationStoreContract(() => memoryRevocations())

  it('if a full revocation store drops a revocation, all sessions begun before it end', async () => {
    const store = memoryRevocations({ most: 2, now })
    await store.revoke(['a'], 10, 5_000)
    await store.revoke(['b'], 20, 5_000)
    expect(await store.endedAt(['z'])).to.equal(undefined)
    await store.revoke(['c'], 30, 5_000)
    expect(await store.endedAt(['a'])).to.equal(10)
    expect(await store.endedAt(['z'])).to.equal(10)
    expect(await store.endedAt(['c'])).to.equal(30)
  })

  it('a full revocation store drops expired revocations first, which ends no session', async () => {
    const store = memoryRevocations({ most: 2, now })
    await store.revoke(['a'], 10, 1_500)
    await store.revoke(['b'], 20, 1_500)
    clock = 2_000
    await store.revoke(['c'], 30, 5_000)
    expect(await store.endedAt(['a'])).to.equal(undefined)
    expect(await store.endedAt(['z'])).to.equal(undefined)
  })

  it('keeps expired revocations while the store has space, in case the clock was wrong', async () => {
    const store = memoryRevocations({ most: 2, now })
    await store.revoke(['a'], 10, 5_000)
    clock = 1_000_000
    await store.revoke(['b'], 20, 2_000_000)
    clock = 2_000
    expect(await store.endedAt(['a'])).to.equal(10)
  })
})

describe('revocation keys of sessions and filters', () => {
  // Few values, so that members often agree by chance and a subject can equal a sid.
  const word = fc.constantFrom('a', 'b', 'c')
  const place = { domainKey: fc.constantFrom('', 'a'), issuer: fc.constantFrom('https://a', 'https://b') }
  const signIns = fc.record({ ...place, subject: word, sid: fc.option(word) })
  const endings = fc.record({ ...place, subject: fc.option(word), sid: fc.option(word) })

  it("a filter's revocation keys match exactly the sessions that the filter matches", () => {
    fc.assert(
      fc.property(fc.array(signIns), endings, (sessions, ended: SessionFilter) => {
        if (ended.subject === null && ended.sid === null) return
        const keys = keysOfFilter(ended)
        for (const session of sessions) {
          const agrees =
            session.domainKey === ended.domainKey &&
            session.issuer === ended.issuer &&
            (ended.subject === null || ended.subject === session.subject) &&
            (ended.sid === null || ended.sid === session.sid || (session.sid === null && ended.subject !== null))
          expect(keysOfSignIn(session as SignIn).some((key) => keys.includes(key))).to.equal(agrees)
        }
      }),
    )
  })
})
