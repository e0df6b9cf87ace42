import { expect } from 'chai'
import { expectPushed } from '../matrix/answers.ts'
import { describeVisit, signInAs, signInCleanly, signOutFully } from '../matrix/expectations.ts'
import { runMatrix } from '../matrix/run-matrix.ts'
import { ALICE } from '../support/people.ts'
import { spring } from './spring.ts'

runMatrix(spring, (bench) => {
  it('a login uses a pushed authorization request if only the client requires it', async () => {
    expectPushed((await signInCleanly(bench(), { client: { require_pushed_authorization_requests: true } })).trail)
  })

  it('logs which auth method settings of introspection and revocation are wrong', async () => {
    const lab = await bench().lab({
      both: { token_endpoint_auth_method: 'client_secret_post' },
      client: {
        introspection_endpoint_auth_method: 'client_secret_basic',
        revocation_endpoint_auth_method: 'client_secret_basic',
      },
    })
    const { browser, page } = await signInAs(lab, ALICE)
    expect(await lab.stateOf(browser), describeVisit(lab, page)).to.equal('unknown')
    await signOutFully(lab, browser)
    const [introspection, revocation, ...rest] = lab.complaints()
    expect(introspection?.message).to.match(/client\.introspection_endpoint_auth_method/)
    expect(revocation?.message).to.match(/client\.revocation_endpoint_auth_method/)
    expect(rest).to.deep.equal([])
  })
})
