import { expect } from 'chai'
import { partsOf } from '../../support/keyed-setup.ts'
import { setups } from '../../support/sign-in-setup.ts'

describe('login while the clocks of server and IdP differ', () => {
  const start = setups()

  for (const [direction, offsetS, remedy] of [
    ['behind', 120, /this clock is behind, or that of the IdP is ahead/],
    ['ahead', -700, /this clock is ahead, or that of the IdP is behind/],
  ] as const) {
    for (const responseType of ['code', 'code id_token']) {
      // Shows: plugin 9.33.
      it(`logs IdP and server time if the server is too far ${direction} (${responseType})`, async () => {
        const members = { response_types: [responseType] }
        const setup = await start({ client: members, registered: members })
        const iat = Math.floor(Date.now() / 1000) + offsetS
        setup.idp.forgeTokens((genuine, idp = setup.idp) => idp.sign({ ...partsOf(genuine)[1], iat }))
        await setup.signIn()
        const [line] = setup.lines('login-failed')
        expect(line?.message).to.match(remedy)
        const { code, claim, received, now } = line?.fields ?? {}
        expect(code).to.equal('id_token_invalid')
        expect(claim).to.equal('iat')
        expect(received).to.equal(new Date(iat * 1000).toISOString())
        expect(Math.round((Date.parse(String(received)) - Date.parse(String(now))) / 10_000)).to.equal(offsetS / 10)
      })
    }
  }
})
