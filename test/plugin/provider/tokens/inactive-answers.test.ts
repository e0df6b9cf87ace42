import { expect } from 'chai'
import { LoginError } from '../../../../plugin/errors.ts'
import { createInactiveAnswers } from '../../../../plugin/provider/tokens/inactive-answers.ts'

const MINUTE_MS = 60_000

describe('the word that a token is not active', () => {
  let nowMs: number
  let asked: string[]
  beforeEach(() => {
    nowMs = 0
    asked = []
  })

  /** @param idp what it says, by token: of those that it called active, and of those that UserInfo may take */
  function open(idp: { active?: readonly string[]; taken?: readonly string[] | 'away' } = {}) {
    const answers = createInactiveAnswers(() => nowMs)
    const called = (token: string) =>
      answers.noteActive({
        token,
        isActive: async () => {
          asked.push(`introspection ${token}`)
          return idp.active?.includes(token) ?? false
        },
      })
    const isTaken = (token: string) => async () => {
      asked.push(`userinfo ${token}`)
      if (idp.taken === 'away') throw new Error('away')
      return idp.taken?.includes(token) ?? false
    }
    const verdict = (work: Promise<void>) =>
      work.then(
        () => 'meant',
        (error: unknown) => (error instanceof LoginError ? error.code : String(error)),
      )
    return {
      idp,
      answers,
      called,
      access: (token: string) => verdict(answers.assertMeant(token, isTaken(token))),
      refresh: (token: string) => verdict(answers.assertMeant(token, null)),
    }
  }

  it('is believed for 10 s after another token was called active, and nobody is asked', async () => {
    const { called, access, refresh } = open({ taken: ['mine'] })
    called('other')
    nowMs += 9_999
    expect(await access('mine')).to.equal('meant')
    expect(await refresh('refresh')).to.equal('meant')
    expect(asked).to.deep.equal([])
    nowMs += 1
    expect(await access('mine')).to.equal('introspection_failed')
    expect(asked).to.deep.equal(['introspection other', 'userinfo mine'])
  })

  it('is not believed minutes after a token was called active where UserInfo takes what is called inactive', async () => {
    const { called, access } = open({ taken: ['one', 'two', 'three'] })
    called('one')
    nowMs += 5 * MINUTE_MS
    for (const token of ['one', 'two', 'three']) expect(await access(token)).to.equal('introspection_failed')
  })

  it('is believed of a token that UserInfo does not take, whatever was called active before', async () => {
    const { called, access } = open({ taken: ['other'] })
    expect(await access('mine')).to.equal('meant')
    called('mine')
    nowMs += 5 * MINUTE_MS
    expect(await access('mine')).to.equal('meant')
    expect(asked).to.deep.equal(['userinfo mine', 'userinfo mine'])
  })

  it('is believed where the token that was called active last still is, though UserInfo takes both or is away', async () => {
    for (const taken of [['mine'], 'away'] as const) {
      const { called, access } = open({ active: ['other'], taken })
      called('other')
      nowMs += 5 * MINUTE_MS
      asked = []
      expect(await access('mine')).to.equal('meant')
      expect(asked).to.deep.equal(['introspection other'])
    }
  })

  it('is held against the token called active last by one question for all that come together', async () => {
    const { called, access } = open({ active: ['other'] })
    called('other')
    nowMs += 5 * MINUTE_MS
    expect(await Promise.all(['a', 'b', 'c'].map(access))).to.deep.equal(['meant', 'meant', 'meant'])
    expect(asked).to.deep.equal(['introspection other'])
  })

  it('is believed of a refresh token until the IdP was caught, and again when it calls one active', async () => {
    const { called, access, refresh } = open({ taken: ['mine'] })
    expect(await refresh('refresh')).to.equal('meant')
    expect(await access('mine')).to.equal('introspection_failed')
    expect(await refresh('refresh')).to.equal('introspection_failed')
    called('other')
    expect(await refresh('refresh')).to.equal('meant')
  })

  for (const error of ['invalid_client', 'unauthorized_client']) {
    it(`is not believed from the moment on in which the token endpoint says ${error}, however short ago one was active`, async () => {
      const { answers, called, access, refresh } = open({ taken: ['mine'] })
      called('other')
      answers.noteRefused('refresh', error)
      expect(await refresh('refresh')).to.equal('introspection_failed')
      expect(await access('mine')).to.equal('introspection_failed')
      expect(await access('one that UserInfo refuses')).to.equal('meant')
    })
  }

  it('is believed of a refresh token that the token endpoint has refused, however much the IdP is in doubt', async () => {
    const { answers, access, refresh } = open({ taken: ['mine'] })
    await access('mine')
    answers.noteRefused('refresh', 'invalid_grant')
    answers.noteRefused('of another', undefined)
    expect(await refresh('refresh')).to.equal('meant')
    expect(await refresh('of another')).to.equal('introspection_failed')
  })

  it('says nothing where nobody else can tell', async () => {
    const { called, access } = open({ taken: 'away' })
    called('mine')
    nowMs += 5 * MINUTE_MS
    expect(await access('mine')).to.equal('Error: away')
  })
})
