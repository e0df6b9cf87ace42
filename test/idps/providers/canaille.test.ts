import { expect } from 'chai'
import { expectNoComplaint, goesIn, signsOut } from '../matrix/expectations.ts'
import { runMatrix } from '../matrix/run-matrix.ts'
import { canaille } from './canaille.ts'

runMatrix(canaille, (bench) => {
  it('takes a client id with blanks and signs, whose percent signs it decodes and whose plus signs it does not', async () => {
    const { lab, browser } = await goesIn(bench(), { registered: { client_id: 'a client + 100 %' } })
    expectNoComplaint(lab, await signsOut(lab, browser))
  })

  it('is asked for UserInfo where the ID token does not say whether the address is verified, and its signature counts', async () => {
    const types: (string | null)[] = []
    const listening: typeof globalThis.fetch = async (input, init) => {
      const answer = await globalThis.fetch(input, init)
      if (String(input).endsWith('/oauth/userinfo')) types.push(answer.headers.get('content-type'))
      return answer
    }
    await goesIn(bench(), { both: { userinfo_signed_response_alg: 'RS256' }, host: { fetch: listening } })
    expect(types).to.deep.equal(['application/jwt'])
  })

  it('signs UserInfo for a host that was told nothing of it too, which verifies it by the algorithms that it publishes', async () => {
    await goesIn(bench(), { registered: { userinfo_signed_response_alg: 'RS256' } })
  })

  it('answers a hybrid login in the fragment', async () => {
    const { trail } = await goesIn(bench(), { both: { response_types: ['code id_token'] } })
    // All but its own name, which it puts into the query.
    const callback = trail.find(({ pathname }) => pathname === '/auth-oidc-callback')
    expect([...(callback?.searchParams.keys() ?? [])]).to.deep.equal(['iss'])
  })
})
