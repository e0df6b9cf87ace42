import { expect } from 'chai'
import { expectNoComplaint, signInCleanly, signOutFully } from '../matrix/expectations.ts'
import { runMatrix } from '../matrix/run-matrix.ts'
import { canaille } from './canaille.ts'

runMatrix(canaille, (bench) => {
  it('users sign in at Canaille with spaces, plus and percent sign in the client_id', async () => {
    const { lab, browser } = await signInCleanly(bench(), { registered: { client_id: 'a client + 100 %' } })
    expectNoComplaint(lab, await signOutFully(lab, browser))
  })

  it("requests Canaille's UserInfo for email_verified, and verifies its signature", async () => {
    const types: (string | null)[] = []
    const listening: typeof globalThis.fetch = async (input, init) => {
      const answer = await globalThis.fetch(input, init)
      if (String(input).endsWith('/oauth/userinfo')) types.push(answer.headers.get('content-type'))
      return answer
    }
    await signInCleanly(bench(), { both: { userinfo_signed_response_alg: 'RS256' }, host: { fetch: listening } })
    expect(types).to.deep.equal(['application/jwt'])
  })

  it("verifies Canaille's signed UserInfo with the algorithms that Canaille publishes", async () => {
    await signInCleanly(bench(), { registered: { userinfo_signed_response_alg: 'RS256' } })
  })

  it('Canaille answers a hybrid login in the fragment', async () => {
    const { trail } = await signInCleanly(bench(), { both: { response_types: ['code id_token'] } })
    // Only the issuer is in the query.
    const callback = trail.find(({ pathname }) => pathname === '/auth-oidc-callback')
    expect([...(callback?.searchParams.keys() ?? [])]).to.deep.equal(['iss'])
  })
})
