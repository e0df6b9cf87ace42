import { expect } from 'chai'
import * as oidc from 'openid-client'
import { createDpopKey } from '../../../../plugin/provider/authentication/dpop.ts'

describe('the key that binds access tokens', () => {
  const config = new oidc.Configuration({ issuer: 'https://idp.example' }, 'mesh')
  const { subtle } = globalThis.crypto
  afterEach(() => {
    Reflect.deleteProperty(subtle, 'generateKey')
  })

  it('is one for all logins', async () => {
    const key = createDpopKey()
    const [one, other] = await Promise.all([key(config), key(config)])
    expect(other).to.equal(one)
    expect(await key(config)).to.equal(one)
  })

  it('is made anew after that has failed, and those who waited for it are told', async () => {
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
