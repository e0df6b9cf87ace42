import { expect } from 'chai'
import { LoginError } from '../../../../plugin/errors.ts'
import type { Logout } from '../../../../plugin/provider/logout/logout-token.ts'
import { createUsedTokens, type SharedUse } from '../../../../plugin/provider/logout/used-tokens.ts'
import { until } from '../../../support/until.ts'

const MINUTE_MS = 60_000

describe('single use of a logout token', () => {
  let nowMs: number
  beforeEach(() => {
    nowMs = 1_700_000_000_000
  })

  const logout = (changes: Partial<Logout> = {}): Logout => ({
    issuer: 'https://idp.example',
    subject: 'u-1',
    sid: null,
    jti: 'one',
    refusedFromS: 1_700_000_000 + 600,
    ...changes,
  })
  /** Returns storage that processes share, like a database. */
  const shared = (): Required<SharedUse> => {
    const until = new Map<string, number>()
    return {
      once: async (key, end) => {
        if ((until.get(key) ?? 0) > nowMs) return false
        until.set(key, end)
        return true
      },
      release: async (key) => {
        until.delete(key)
      },
    }
  }
  const process = (store?: SharedUse, domainKey = '') =>
    createUsedTokens({ domainKey, shared: store, now: () => nowMs })
  const outcomeOf = (work: Promise<unknown>) =>
    work.then(
      (result) => result,
      (error: unknown) => (error instanceof LoginError ? error.details.reason : 'no LoginError'),
    )
  const done = async () => 'done'
  const failing = async () => {
    throw new LoginError('host_failed', { details: { reason: 'the disk is full' } })
  }
  const never = () => new Promise<never>(() => undefined)
  const USED = 'it was already used'

  // Shows: plugin 10.20.
  it('a logout token works once among all processes that share the storage', async () => {
    const store = shared()
    const [first, second] = [process(store), process(store)]
    expect(await outcomeOf(first.use(logout(), done))).to.equal('done')
    nowMs += 9 * MINUTE_MS
    expect(await outcomeOf(first.use(logout(), done))).to.equal(USED)
    expect(await outcomeOf(second.use(logout(), done))).to.equal(USED)
    expect(() => first.assertUnused(logout())).to.throw(LoginError)
  })

  it('a logout token may be retried after a failure, by one process at a time', async () => {
    const store = shared()
    const [first, second] = [process(store), process(store)]
    expect(await outcomeOf(first.use(logout(), failing))).to.equal('the disk is full')
    expect(await outcomeOf(second.use(logout(), failing))).to.equal('the disk is full')
    void first.use(logout(), never)
    expect(await outcomeOf(second.use(logout(), done))).to.equal(USED)
  })

  it('a logout token is refused after a failure if shared storage has no release()', async () => {
    const { once } = shared()
    const store = { once }
    expect(await outcomeOf(process(store).use(logout(), failing))).to.equal('the disk is full')
    expect(await outcomeOf(process(store).use(logout(), done))).to.equal(USED)
  })

  // Shows: plugin 10.20.
  it('processes parallel copies of a logout token once; if that fails, all copies fail', async () => {
    const tokens = process(shared())
    let calls = 0
    let finish = (_: boolean): void => undefined
    const act = async () => {
      calls += 1
      if (!(await new Promise<boolean>((resolve) => (finish = resolve)))) await failing()
      return 'done'
    }
    for (const [goesWell, outcomes] of [
      [false, ['the disk is full', 'the disk is full']],
      [true, ['done', USED]],
    ] as const) {
      calls = 0
      const both = [outcomeOf(tokens.use(logout(), act)), outcomeOf(tokens.use(logout(), act))]
      await until('the first call', () => calls > 0)
      finish(goesWell)
      expect(await Promise.all(both)).to.deep.equal(outcomes)
      expect(calls).to.equal(1)
    }
  })

  it('logout tokens of different issuers or domains may have the same jti', async () => {
    const store = shared()
    for (const tokens of [process(store), process(store, 'customer')]) {
      for (const issuer of ['https://idp.example', 'https://other.example']) {
        expect(await outcomeOf(tokens.use(logout({ issuer }), done))).to.equal('done')
      }
    }
  })
})
