import { expect } from 'chai'
import type { OpenSession } from '../../../plugin/host/port.ts'
import { createIntrospection } from '../../../plugin/sessions/introspection.ts'
import { createSessionReview, type Reviewed } from '../../../plugin/sessions/session-review.ts'
import { FakeClock } from '../../support/fake-clock.ts'

describe('a look at sessions that the IdP may have ended', () => {
  let clock: FakeClock
  let ended: string[]
  let asked: { readonly token: string; readonly answer: (active: boolean) => void }[]
  let most: number
  beforeEach(() => {
    clock = new FakeClock()
    ended = []
    asked = []
    most = 0
  })

  const create = () => createSessionReview(createIntrospection(clock), clock)
  const sessions = (count: number, domainKey = ''): OpenSession[] =>
    Array.from({ length: count }, (_, at) => ({
      signIn: {
        domainKey,
        userId: '~oidc:u-1',
        issuer: 'https://idp.example',
        subject: 'u-1',
        sid: null,
        startedAt: 0,
        idToken: null,
        tokens: { access: `token-${at}`, accessExpiresAt: null, refresh: null },
      },
      end: async () => ended.push(`token-${at}`) > 0,
    }))
  const ask = (token: string) =>
    new Promise<{ active: boolean }>((resolve) => {
      asked.push({ token, answer: (active) => resolve({ active }) })
      most = Math.max(most, asked.length)
    })
  /** Answers whatever is asked until everything was. */
  const answerAll = async (work: Promise<Reviewed>, isActive: (token: string) => boolean) => {
    let reviewed: Reviewed | undefined
    void work.then((outcome) => {
      reviewed = outcome
    })
    while (!reviewed) {
      for (const { token, answer } of asked.splice(0)) answer(isActive(token))
      await new Promise((resolve) => setImmediate(resolve))
    }
    return reviewed
  }

  it('asks about 8 at once, and ends those that are not active', async () => {
    const reviewed = await answerAll(create().review(sessions(50), ask), (token) => !token.endsWith('7'))
    expect(most).to.equal(8)
    expect(ended.toSorted()).to.deep.equal(['token-17', 'token-27', 'token-37', 'token-47', 'token-7'])
    expect(reviewed).to.include({ ended: 5, failure: undefined })
    expect([reviewed.active.length, reviewed.notAsked]).to.deep.equal([45, []])
  })

  it('asks about no more than wait their turn within a bound', async () => {
    const reviewed = await answerAll(create().review(sessions(1_500), ask), () => true)
    expect(reviewed.notAsked).to.have.length(1_500 - 1_000 - 8)
  })

  it('keeps nobody waiting for the IdP of another domain', async () => {
    const review = create()
    const hung = Array.from({ length: 20 }, (_, at) => review.review(sessions(1_500, `hung-${at}`), ask))
    while (asked.length < 20) await new Promise((resolve) => setImmediate(resolve))
    asked = []
    const fine = await answerAll(review.review(sessions(50, 'fine'), ask), () => true)
    expect([fine.active.length, fine.notAsked]).to.deep.equal([50, []])
    review.close()
    expect(hung).to.have.length(20)
  })

  it('asks about what stands in the place of a session, and finds that when its turn has come', async () => {
    const prepared: OpenSession[] = []
    const [other] = sessions(1, 'other') as [OpenSession]
    const all = sessions(20)
    const work = create().review(all, ask, async (session) => {
      prepared.push(session)
      return { ...other, signIn: { ...other.signIn, tokens: { access: 'new', accessExpiresAt: null, refresh: null } } }
    })
    while (asked.length < 8) await new Promise((resolve) => setImmediate(resolve))
    expect(prepared).to.deep.equal(all.slice(0, 8))
    expect(asked.map(({ token }) => token)).to.deep.equal(Array(8).fill('new'))
    const reviewed = await answerAll(work, () => true)
    expect(reviewed.active).to.deep.equal(all)
  })

  it('asks about nobody any more who has waited for a minute', async () => {
    const work = create().review(sessions(20), ask)
    while (asked.length < 8) await new Promise((resolve) => setImmediate(resolve))
    await clock.advance(60_001)
    const { ended: count, notAsked } = await answerAll(work, () => false)
    expect([count, notAsked.length]).to.deep.equal([8, 12])
  })

  it('ends nothing once it is closed, and then leaves nobody waiting', async () => {
    const review = create()
    const work = review.review(sessions(20), ask)
    while (asked.length < 8) await new Promise((resolve) => setImmediate(resolve))
    review.close()
    const reviewed = await answerAll(work, () => false)
    expect([reviewed.ended, reviewed.notAsked.length, ended]).to.deep.equal([0, 20, []])
    expect((await review.review(sessions(1), ask)).notAsked).to.have.length(1)
  })

  it('tells of a session that could not be ended, and goes on with the others', async () => {
    const [broken, ...others] = sessions(3)
    const failing = { signIn: broken!.signIn, end: () => Promise.reject(new Error('the disk is full')) }
    const reviewed = await answerAll(create().review([failing, ...others], ask), () => false)
    expect(reviewed.ended).to.equal(2)
    expect(reviewed.failure).to.be.an('error').with.property('message', 'the disk is full')
  })

  describe('later', () => {
    for (const [what, answers, looks] of [
      ['half a second, 5 s and 30 s for those that went on', [true, true, true], [500, 5_500, 35_500]],
      ['no longer than until none is left', [true, false], [500, 5_500]],
    ] as const) {
      it(`is repeated after ${what}`, async () => {
        const found: [at: number, ended: number][] = []
        create().reviewLater(
          sessions(1),
          async () => ({ active: answers[found.length] ?? expect.fail('asked too often') }),
          ({ ended: count }) => found.push([clock.elapsed(), count]),
        )
        await clock.advance(600_000)
        expect(found).to.deep.equal(looks.map((at, look) => [at, answers[look] ? 0 : 1]))
        expect(ended).to.deep.equal(answers.includes(false as never) ? ['token-0'] : [])
      })
    }

    it('is told of where there is none, since too many of the domain wait for theirs', async () => {
      const review = create()
      const found: [string, number][] = []
      const later = (domainKey: string, count: number) =>
        review.reviewLater(sessions(count, domainKey), ask, ({ notAsked }) => found.push([domainKey, notAsked.length]))
      later('many', 999)
      later('many', 2)
      later('beside', 2)
      await new Promise((resolve) => setImmediate(resolve))
      expect(found).to.deep.equal([['many', 2]])
      review.close()
      await new Promise((resolve) => setImmediate(resolve))
      expect(found).to.have.length(1)
    })

    it('does not come about any more once it is closed', async () => {
      const review = create()
      const found: Reviewed[] = []
      review.reviewLater(sessions(1), ask, (reviewed) => found.push(reviewed))
      review.close()
      await clock.advance(600_000)
      expect([found, asked]).to.deep.equal([[], []])
    })
  })
})
