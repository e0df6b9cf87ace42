import { expect } from 'chai'
import { expectNoComplaint, signsIn } from '../matrix/expectations.ts'
import { runMatrix } from '../matrix/run-matrix.ts'
import { ALICE } from '../support/people.ts'
import { canaille } from './canaille.ts'

runMatrix(canaille, (bench) => {
  it('signs UserInfo for a host that was told nothing of it too, which verifies it by the algorithms that it publishes', async () => {
    const lab = await bench().lab({ registered: { userinfo_signed_response_alg: 'RS256' } })
    const visit = await signsIn(lab, ALICE)
    expectNoComplaint(lab, visit.page)
  })

  it('answers a hybrid login in the fragment', async () => {
    const lab = await bench().lab({ both: { response_types: ['code id_token'] } })
    const visit = await signsIn(lab, ALICE)
    expectNoComplaint(lab, visit.page)
    // All but its own name, which it puts into the query.
    const callback = visit.trail
      .map((address) => new URL(address))
      .find(({ pathname }) => pathname === '/auth-oidc-callback')
    expect([...(callback?.searchParams.keys() ?? [])]).to.deep.equal(['iss'])
  })
})
