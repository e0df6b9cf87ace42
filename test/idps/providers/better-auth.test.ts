import { expect } from 'chai'
import { makeKey } from '../../support/client-keys.ts'
import { expectNoComplaint, expectRefused, expectSignedIn, told } from '../matrix/expectations.ts'
import { runMatrix } from '../matrix/run-matrix.ts'
import { ALICE, BOB } from '../support/people.ts'
import { betterAuth } from './better-auth.ts'

runMatrix(betterAuth, (bench) => {
  it('signs with EdDSA, which the line names where another algorithm is expected', async () => {
    const lab = await bench().lab({ client: { id_token_signed_response_alg: 'RS256' } })
    expectRefused(lab, await lab.signIn(ALICE), 'id_token_invalid', [/client\.id_token_signed_response_alg/, /EdDSA/])
  })

  it('takes assertions by a key that stands in the registration, throughout', async () => {
    const key = makeKey('RSA', { kid: 'sig-1', use: 'sig', alg: 'RS256' })
    const lab = await bench().lab({
      both: { token_endpoint_auth_method: 'private_key_jwt' },
      registered: { jwks: { keys: [key.public] } },
      keys: [key],
    })
    const visit = await lab.signIn(ALICE)
    expectSignedIn(lab, visit, ALICE)
    expect(await lab.stateOf(visit.browser), told(lab, visit.page)).to.equal('active')
    expectNoComplaint(lab, await lab.signOut(visit.browser))
  })

  it('refuses the hybrid flow in the fragment, and the line has its words', async () => {
    const lab = await bench().lab({ client: { response_types: ['code id_token'] } })
    expectRefused(lab, await lab.signIn(ALICE), 'provider_error', [
      /unsupported_response_type/,
      /client\.response_types/,
    ])
  })

  it('lets somebody choose another account after a refusal that another one could mend', async () => {
    const lab = await bench().lab({
      registered: { groups: 'by_scope' },
      groups: { required: 'mesh-admins' },
    })
    const refused = await lab.signIn(BOB)
    expectRefused(lab, refused, 'not_in_required_group', [/groups\.required/])
    const again = await lab.signIn(ALICE, refused.browser)
    expectSignedIn(lab, again, ALICE)
  })
})
