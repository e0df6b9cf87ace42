import { expect } from 'chai'
import { expectNoComplaint, expectRefused, expectSignedIn, told } from '../matrix/expectations.ts'
import { runMatrix } from '../matrix/run-matrix.ts'
import { ALICE } from '../support/people.ts'
import { canaille, isCanaille } from './canaille.ts'

runMatrix(canaille, (bench) => {
  it('takes a client id with blanks and signs, whose percent signs it decodes and whose plus signs it does not', async () => {
    const lab = await bench().lab({ registered: { client_id: 'a client + 100 %' } })
    const visit = await lab.signIn(ALICE)
    expectSignedIn(lab, visit, ALICE)
    expectNoComplaint(lab, await lab.signOut(visit.browser))
  })

  it('is asked for UserInfo where the ID token does not say whether the address is verified, and its signature counts', async () => {
    const types: (string | null)[] = []
    const listening: typeof globalThis.fetch = async (input, init) => {
      const answer = await globalThis.fetch(input, init)
      if (String(input).endsWith('/oauth/userinfo')) types.push(answer.headers.get('content-type'))
      return answer
    }
    const lab = await bench().lab({
      both: { userinfo_signed_response_alg: 'RS256' },
      host: { fetch: listening },
    })
    const visit = await lab.signIn(ALICE)
    expectSignedIn(lab, visit, ALICE)
    expectNoComplaint(lab, visit.page)
    expect(types).to.deep.equal(['application/jwt'])
  })

  it('signs UserInfo for a host that was told nothing of it too, which verifies it by the algorithms that it publishes', async () => {
    const lab = await bench().lab({ registered: { userinfo_signed_response_alg: 'RS256' } })
    const visit = await lab.signIn(ALICE)
    expectSignedIn(lab, visit, ALICE)
    expectNoComplaint(lab, visit.page)
  })

  it('names nobody in `aud` for a client without an audience, which is refused with a line that says so', async () => {
    const { idp, lab: start } = bench()
    const lab = await start()
    if (!isCanaille(idp)) throw new Error('another provider')
    await idp.leaveOutAudience(lab.registered.client_id)
    expectRefused(lab, await lab.signIn(ALICE), 'id_token_invalid', [/aud/, /client\.client_id/])
  })

  it('answers a hybrid login in the fragment', async () => {
    const lab = await bench().lab({ both: { response_types: ['code id_token'] } })
    const visit = await lab.signIn(ALICE)
    expectSignedIn(lab, visit, ALICE)
    expectNoComplaint(lab, visit.page)
    // All but its own name, which it puts into the query.
    const callback = visit.trail
      .map((address) => new URL(address))
      .find(({ pathname }) => pathname === '/auth-oidc-callback')
    expect([...(callback?.searchParams.keys() ?? [])]).to.deep.equal(['iss'])
  })

  it('fails at its token endpoint for one of two logins within a second, and the line says so', async () => {
    // With RS256 both get the same access token.
    const lab = await bench().lab({ both: { id_token_signed_response_alg: 'RS256' } })
    for (let pair = 0; pair < 5; pair += 1) {
      const visits = await Promise.all([lab.signIn(ALICE), lab.signIn(ALICE)])
      const refused = visits.find(({ who }) => who.status === 401)
      if (!refused) continue
      expectRefused(lab, refused, 'token_request_failed', [/"status":500/])
      return
    }
    expect.fail(told(lab, (await lab.signIn(ALICE)).page))
  })
})
