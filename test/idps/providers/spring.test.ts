import { expect } from 'chai'
import { makeKey } from '../../support/client-keys.ts'
import { expectNoComplaint, expectRefused, expectSignedIn, told } from '../matrix/expectations.ts'
import { runMatrix } from '../matrix/run-matrix.ts'
import type { LabOptions } from '../support/lab.ts'
import { ALICE } from '../support/people.ts'
import { spring } from './spring.ts'

const pushing = { require_pushed_authorization_requests: true }
const byKey: LabOptions = {
  both: { token_endpoint_auth_method: 'private_key_jwt' },
  keys: [makeKey('RSA', { kid: 'sig-1', use: 'sig', alg: 'RS256' })],
}

runMatrix(spring, (bench) => {
  for (const [name, options] of [
    ['a secret', {}],
    ['a key', byKey],
  ] as const) {
    it(`takes pushed requests of a client with ${name}, which it demands of none`, async () => {
      const lab = await bench().lab({ ...options, client: pushing })
      const visit = await lab.signIn(ALICE)
      expectSignedIn(lab, visit, ALICE)
      expectNoComplaint(lab, visit.page)
      const request = visit.trail
        .map((address) => new URL(address))
        .find(({ searchParams }) => searchParams.has('client_id'))
      expect([...(request?.searchParams.keys() ?? [])]).to.have.members(['client_id', 'request_uri'])
      expect(request?.searchParams.get('request_uri')).to.match(/^urn:/)
    })
  }

  it('leads a pushed request to its login page where its filter chain does not let it through, and the line says so', async () => {
    const { idp, lab: start } = bench()
    const lab = await start({
      client: pushing,
      // An address behind the login, as the true one is by default.
      oidc: { issuer: { issuer: idp.issuer, pushed_authorization_request_endpoint: `${idp.issuer}/guarded` } },
    })
    expectRefused(lab, await lab.signIn(ALICE), 'pushed_request_refused', [/"status":302/])
  })

  it('takes no method at introspection and revocation but the registered one, and the lines name the members', async () => {
    const lab = await bench().lab({
      both: { token_endpoint_auth_method: 'client_secret_post' },
      client: {
        introspection_endpoint_auth_method: 'client_secret_basic',
        revocation_endpoint_auth_method: 'client_secret_basic',
      },
    })
    const visit = await lab.signIn(ALICE)
    expectSignedIn(lab, visit, ALICE)
    expect(await lab.stateOf(visit.browser), told(lab, visit.page)).to.equal('unknown')
    const page = await lab.signOut(visit.browser)
    expect(page.url, told(lab, page)).to.satisfy((url: string) => url.startsWith(`${lab.host.url}login`))
    const [introspection, revocation, ...others] = lab.complaints()
    expect(introspection?.message).to.match(/client\.introspection_endpoint_auth_method/)
    expect(revocation?.message).to.match(/client\.revocation_endpoint_auth_method/)
    expect(others).to.deep.equal([])
  })

  it('refuses the scope groups where a client does not have it, and the line names the member that leaves it out', async () => {
    const lab = await bench().lab({ registered: { groups: 'unasked' }, groups: { required: 'mesh-users' } })
    const visit = await lab.signIn(ALICE)
    expectRefused(lab, visit, ['provider_error', 'scope_refused'], [/invalid_scope/, /groups\.scope/, /"groups"\]/])
  })
})
