import { expect } from 'chai'
import { recordAnswers } from '../../../../sidecar/push/delivery/answers.ts'
import type { PushOutcome } from '../../../../sidecar/push/gateway/gateway.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

const ACCEPTED: PushOutcome = { kind: 'accepted' }
const SILENT: PushOutcome = { kind: 'try_later', reason: 'no answer within 10 s' }
const GONE: PushOutcome = { kind: 'token_gone', reason: 'the app was removed' }
const AWAY: PushOutcome = { kind: 'phone_away', reason: 'off line' }
const REFUSED: PushOutcome = { kind: 'refused', reason: 'too big' }
const UNAUTHORIZED: PushOutcome = { kind: 'unauthorized', reason: 'the key was revoked' }

describe("The record of a push gateway's answers", () => {
  function answered(...outcomes: readonly PushOutcome[]) {
    const record = recordAnswers(new FakeClock(1000))
    for (const outcome of outcomes) record.note(outcome)
    return record.read()
  }
  const stateAfter = (...outcomes: readonly PushOutcome[]) => answered(...outcomes).state

  it('the last answer of a push gateway determines its state', () => {
    expect(stateAfter()).to.equal('unused')
    expect(stateAfter(ACCEPTED)).to.equal('working')
    expect(stateAfter(SILENT)).to.equal('failing')
    expect(stateAfter(ACCEPTED, REFUSED)).to.equal('refusing')
    expect(stateAfter(REFUSED, ACCEPTED)).to.equal('working')
  })

  it('a gateway counts as working if it reports a dead token or an offline phone', () => {
    for (const good of [GONE, AWAY])
      expect(answered(UNAUTHORIZED, good)).to.deep.include({ state: 'working', credentialsRefused: false })
  })

  // Shows: sidecar O1.3.
  it('distinguishes refused push credentials from a refused notification', () => {
    expect(answered(UNAUTHORIZED)).to.deep.include({
      state: 'refusing',
      credentialsRefused: true,
      lastRefused: { at: 1000, reason: 'the key was revoked' },
    })
    expect(answered(REFUSED).credentialsRefused).to.equal(false)
    expect(answered(UNAUTHORIZED, ACCEPTED).credentialsRefused).to.equal(false)
  })

  // Shows: sidecar O1.3.
  it('a push gateway that refused the credentials is still "refusing" after a timeout', () => {
    const answers = answered(UNAUTHORIZED, SILENT)
    expect(answers).to.deep.include({ state: 'refusing', credentialsRefused: true })
    expect(answers.lastFailed).to.deep.equal({ at: 1000, reason: 'no answer within 10 s' })
  })
})
