import { expectRefused, signsIn } from '../matrix/expectations.ts'
import { runMatrix } from '../matrix/run-matrix.ts'
import { ALICE, BOB } from '../support/people.ts'
import { betterAuth } from './better-auth.ts'

runMatrix(betterAuth, (bench) => {
  it('lets somebody choose another account after a refusal that another one could mend', async () => {
    const lab = await bench().lab({
      registered: { groups: 'by_scope' },
      groups: { required: 'mesh-admins' },
    })
    const refused = await lab.signIn(BOB)
    expectRefused(lab, refused, 'not_in_required_group', [/groups\.required/])
    await signsIn(lab, ALICE, refused.browser)
  })
})
