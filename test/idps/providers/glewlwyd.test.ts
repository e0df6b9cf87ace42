import { expectRefused } from '../matrix/expectations.ts'
import { runMatrix } from '../matrix/run-matrix.ts'
import { ALICE } from '../support/people.ts'
import { glewlwyd } from './glewlwyd.ts'

runMatrix(glewlwyd, (bench) => {
  it('the log tells the administrator to allow PKCE if Glewlwyd refuses it', async () => {
    const { idp, lab: start } = bench()
    await idp.forbidPkce()
    const lab = await start()
    expectRefused(lab, await lab.signIn(ALICE), ['provider_error', 'token_request_failed'], [/PKCE/])
  })
})
