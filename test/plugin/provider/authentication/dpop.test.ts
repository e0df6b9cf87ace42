import { expect } from 'chai'
import * as oidc from 'openid-client'
import { createDpopKey } from '../../../../plugin/provider/authentication/dpop.ts'

describe('DPoP key', () => {
  const config = new oidc.Configuration({ issuer: 'https://idp.example' }, 'mesh')
  const { subtle } = globalThis.crypto
  afterEach(() => {
    Reflect.deleteProperty(subtle, 'generateKey')
  })

  it('all logins share one DPoP key', async () => {
    const key = createDpopKey()
    const [first, second] = await Promise.all([key(config), key(config)])
    expect(second).to.equal(first)
    expect(await key(config)).to.equal(first)
  })

  it('if creating the DPoP key fails, waiting logins fail and later logins try again', async () => {
    let tries = 0
    const fail = async () => {
      tries += 1
      throw new Error('out of entropy')
    }
    Object.defineProperty(subtle, 'generateKey', { configurable: true, value: fail })
    const key = createDpopKey()
    const outcomes = await Promise.allSettled([key(config), key(config)])
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected'])
    expect(tries).to.equal(1)
    Reflect.deleteProperty(subtle, 'generateKey')
    expect(await key(config)).to.be.an('object')
  })
})
