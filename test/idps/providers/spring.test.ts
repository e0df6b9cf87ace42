import { expect } from 'chai'
import { signsIn, told } from '../matrix/expectations.ts'
import { runMatrix } from '../matrix/run-matrix.ts'
import { ALICE } from '../support/people.ts'
import { spring } from './spring.ts'

runMatrix(spring, (bench) => {
  it('takes no method at introspection and revocation but the registered one, and the lines name the members', async () => {
    const lab = await bench().lab({
      both: { token_endpoint_auth_method: 'client_secret_post' },
      client: {
        introspection_endpoint_auth_method: 'client_secret_basic',
        revocation_endpoint_auth_method: 'client_secret_basic',
      },
    })
    const visit = await signsIn(lab, ALICE)
    expect(await lab.stateOf(visit.browser), told(lab, visit.page)).to.equal('unknown')
    const page = await lab.signOut(visit.browser)
    expect(page.url, told(lab, page)).to.satisfy((url: string) => url.startsWith(`${lab.host.url}login`))
    const [introspection, revocation, ...others] = lab.complaints()
    expect(introspection?.message).to.match(/client\.introspection_endpoint_auth_method/)
    expect(revocation?.message).to.match(/client\.revocation_endpoint_auth_method/)
    expect(others).to.deep.equal([])
  })
})
