import { expect } from 'chai'
import type { Request } from 'express'
import { LOGIN_ERRORS, MESSAGES } from '../../../../plugin/errors.ts'
import { MESSAGE, messageOf, sendOn } from '../../../../plugin/meshcentral/pages/login-page.ts'

describe('redirect after a login', () => {
  const answerTo = (path: string, isStrict: boolean) => {
    const sent: { status?: number; location?: string; body?: string } = {}
    const res = {
      redirect: (status: number, location: string) => Object.assign(sent, { status, location }),
      status: (status: number) => Object.assign(sent, { status }) && res,
      set: () => res,
      type: () => res,
      send: (body: string) => Object.assign(sent, { body }),
    }
    sendOn(res as unknown as NonNullable<Request['res']>, path, isStrict)
    return sent
  }

  it('a login ends with a redirect, or with a page if cookies are SameSite=Strict', () => {
    expect(answerTo('/a?b', false)).to.deep.equal({ status: 302, location: '/a?b' })
    expect(answerTo('/a?b', true)).to.include({ status: 200 })
  })

  it('the page after a login escapes markup in the redirect address', () => {
    const { body = '' } = answerTo('/?a="><script>1</script>\'&b', true)
    expect(body).not.to.match(/<script|a="|'&b/)
  })

  // Shows: meshcentral 7, 8.
  it('every failed login has a MeshCentral message, even with an unknown code', () => {
    for (const [reason, message] of [
      ['account_unknown', 'cannotCreate'],
      ['account_limit', 'accountLimit'],
      ['not_in_required_group', 'denied'],
      ['account_locked', 'locked'],
      ['discovery_failed', 'failed'],
      ['transaction_missing', 'securityCheck'],
      ['id_token_invalid', 'invalidToken'],
    ] as const) {
      expect(messageOf({ reason, code: LOGIN_ERRORS[reason].message }), reason).to.equal(MESSAGE[message])
    }
    expect(messageOf({ reason: 'constructor', code: 'constructor' })).to.equal(MESSAGE.failed)
  })

  // Shows: meshcentral 6.
  it('each message of the plugin maps to a message number of MeshCentral', () => {
    for (const code of Object.keys(MESSAGES)) {
      expect(Object.values<number>(MESSAGE), code).to.include(messageOf({ reason: 'new', code }))
    }
    expect(messageOf({ reason: 'new', code: 'sign_in_cancelled' })).to.equal(MESSAGE.denied)
    expect(messageOf({ reason: 'new', code: 'maintenance' })).to.equal(MESSAGE.maintenance)
  })
})
