import { expect } from 'chai'
import { expectPushed } from '../matrix/answers.ts'
import { goesIn, signsIn, signsOut, told } from '../matrix/expectations.ts'
import { runMatrix } from '../matrix/run-matrix.ts'
import { ALICE } from '../support/people.ts'
import { spring } from './spring.ts'

runMatrix(spring, (bench) => {
  it('takes pushed requests of a client, which it demands of none', async () => {
    expectPushed((await goesIn(bench(), { client: { require_pushed_authorization_requests: true } })).trail)
  })

  it('takes no method at introspection and revocation but the registered one, and the lines name the members', async () => {
    const lab = await bench().lab({
      both: { token_endpoint_auth_method: 'client_secret_post' },
      client: {
        introspection_endpoint_auth_method: 'client_secret_basic',
        revocation_endpoint_auth_method: 'client_secret_basic',
      },
    })
    const { browser, page } = await signsIn(lab, ALICE)
    expect(await lab.stateOf(browser), told(lab, page)).to.equal('unknown')
    await signsOut(lab, browser)
    const [introspection, revocation, ...others] = lab.complaints()
    expect(introspection?.message).to.match(/client\.introspection_endpoint_auth_method/)
    expect(revocation?.message).to.match(/client\.revocation_endpoint_auth_method/)
    expect(others).to.deep.equal([])
  })
})
