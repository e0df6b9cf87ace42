import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { keyedSetups, partsOf } from '../../support/keyed-setup.ts'

const halfHash = (text: string, bits = 256) => {
  const digest = createHash(`sha${bits}`).update(text).digest()
  return digest.subarray(0, digest.length / 2).toString('base64url')
}

describe('ID token delivered by the browser', () => {
  const start = keyedSetups()
  for (const [content, front, back, reason] of [
    ['the hash of another code', { c_hash: halfHash('another') }, {}, /./],
    ['no hash of the code', { c_hash: undefined }, {}, /./],
    ['the hash of another state', { s_hash: halfHash('another') }, {}, /./],
    ['another subject than the code', { sub: 'u-1002' }, {}, /^the two ID tokens describe different users$/],
    ['one subject and the code another', {}, { sub: 'u-1002' }, /^the two ID tokens describe different users$/],
  ] as const) {
    it(`refuses a code with an ID token that has ${content}`, async () => {
      const members = { response_types: ['code id_token'] }
      const { idp, signIn } = await start({ client: members, registered: members })
      // The first token of a login comes by the browser, the second from the token endpoint.
      let isFirst = true
      idp.forgeTokens((genuine) => {
        const changes = isFirst ? front : back
        isFirst = false
        return idp.sign({ ...partsOf(genuine)[1], ...changes })
      })
      const { page, me, failure } = await signIn()
      expect(page.url).to.match(/failure=login_failed$/)
      expect({ status: me.status, code: failure?.code }).to.deep.equal({ status: 401, code: 'id_token_invalid' })
      expect(failure?.reason).to.match(reason)
    })
  }
})

describe('at_hash of an access token', () => {
  const start = keyedSetups()

  for (const [alg, bits] of [
    ['RS256', 256],
    ['PS384', 384],
    ['ES256', 256],
    ['EdDSA', 512],
  ] as const) {
    it(`refuses an access token that at_hash in the ID token does not match (${alg})`, async () => {
      const members = { id_token_signed_response_alg: alg }
      const { host, idp, signIn } = await start({ client: members, registered: members })
      idp.faults.set('token', {
        kind: 'rewrite',
        body: (genuine) => ({ ...(genuine as object), access_token: 'somebody-elses-token' }),
      })
      const tellHashOf = (token: string) =>
        idp.forgeTokens((genuine) => idp.sign({ ...partsOf(genuine)[1], at_hash: halfHash(token, bits) }, { alg }))
      tellHashOf('the-token-of-this-login')
      const { page, me, failure } = await signIn()
      expect(page.url).to.match(/failure=login_failed$/)
      expect(failure).to.include({
        code: 'access_token_invalid',
        reason: 'at_hash of the ID token belongs to another access token',
      })
      expect(me.status).to.equal(401)
      tellHashOf('somebody-elses-token')
      expect((await signIn()).page.url).to.equal(host.url)
    })
  }
})
