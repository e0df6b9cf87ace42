import { expect } from 'chai'
import { createDeviceId } from '../../../sidecar/client/device-id.ts'

describe('a device id', () => {
  const webCrypto = Object.getOwnPropertyDescriptor(globalThis, 'crypto') ?? {}
  afterEach(() => Object.defineProperty(globalThis, 'crypto', webCrypto))

  // Shows: sidecar C16.10.
  it('a device id differs each time for any source of randomness', () => {
    const [one, other] = [createDeviceId(() => 0), createDeviceId(() => 0)]
    expect(one).to.match(/^[0-9a-f]{32}$/)
    expect(other).to.not.equal(one)
  })

  it('is made without Web Crypto too, by what the app gives', () => {
    Object.defineProperty(globalThis, 'crypto', { value: undefined, configurable: true })
    const numbers = Array.from({ length: 16 }, (_, at) => at / 16)
    expect(createDeviceId(() => numbers.shift() ?? 0)).to.equal('00102030405060708090a0b0c0d0e0f0')
  })
})
