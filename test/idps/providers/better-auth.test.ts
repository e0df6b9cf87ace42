import { expectRefused, signInAs } from '../matrix/expectations.ts'
import { runMatrix } from '../matrix/run-matrix.ts'
import { ALICE, BOB } from '../support/people.ts'
import { betterAuth } from './better-auth.ts'

runMatrix(betterAuth, (bench) => {
  it('a user refused at better-auth can choose another account and sign in', async () => {
    const lab = await bench().lab({
      registered: { groups: 'by_scope' },
      groups: { required: 'mesh-admins' },
    })
    const refused = await lab.signIn(BOB)
    expectRefused(lab, refused, 'not_in_required_group', [/groups\.required/])
    await signInAs(lab, ALICE, refused.browser)
  })
})
