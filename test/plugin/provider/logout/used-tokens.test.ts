import { expect } from 'chai'
import { LoginError } from '../../../../plugin/errors.ts'
import type { Logout } from '../../../../plugin/provider/logout/logout-token.ts'
import { createUsedTokens, type SharedUse } from '../../../../plugin/provider/logout/used-tokens.ts'

const MINUTE_MS = 60_000

describe('a logout token', () => {
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
  /** What processes share, as a database has it. */
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
  const said = (work: Promise<unknown>) =>
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
  it('works once, among all processes that share what was used', async () => {
    const store = shared()
    const [first, second] = [process(store), process(store)]
    expect(await said(first.use(logout(), done))).to.equal('done')
    nowMs += 9 * MINUTE_MS
    expect(await said(first.use(logout(), done))).to.equal(USED)
    expect(await said(second.use(logout(), done))).to.equal(USED)
    expect(() => first.assertUnused(logout())).to.throw(LoginError)
  })

  it('may come again, to any process, when it has failed, and is one for whichever comes first', async () => {
    const store = shared()
    const [first, second] = [process(store), process(store)]
    expect(await said(first.use(logout(), failing))).to.equal('the disk is full')
    expect(await said(second.use(logout(), failing))).to.equal('the disk is full')
    void first.use(logout(), never)
    expect(await said(second.use(logout(), done))).to.equal(USED)
  })

  it('counts from the beginning where what is shared cannot be given back', async () => {
    const { once } = shared()
    const store = { once }
    expect(await said(process(store).use(logout(), failing))).to.equal('the disk is full')
    expect(await said(process(store).use(logout(), done))).to.equal(USED)
  })

  // Shows: plugin 10.20.
  it('fails with the copy that came just before, or is refused once that has worked, and acts once', async () => {
    const tokens = process(shared())
    let acted = 0
    let finish = (_: boolean): void => undefined
    const act = async () => {
      acted += 1
      if (!(await new Promise<boolean>((resolve) => (finish = resolve)))) await failing()
      return 'done'
    }
    for (const [goesWell, outcomes] of [
      [false, ['the disk is full', 'the disk is full']],
      [true, ['done', USED]],
    ] as const) {
      acted = 0
      const both = [said(tokens.use(logout(), act)), said(tokens.use(logout(), act))]
      while (acted === 0) await Promise.resolve()
      finish(goesWell)
      expect(await Promise.all(both)).to.deep.equal(outcomes)
      expect(acted).to.equal(1)
    }
  })

  it('is no other one of another issuer or another domain', async () => {
    const store = shared()
    for (const tokens of [process(store), process(store, 'customer')]) {
      for (const issuer of ['https://idp.example', 'https://other.example']) {
        expect(await said(tokens.use(logout({ issuer }), done))).to.equal('done')
      }
    }
  })
})
