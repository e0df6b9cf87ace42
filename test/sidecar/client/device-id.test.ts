import { expect } from 'chai'
import { createDeviceId } from '../../../sidecar/client/device-id.ts'

describe('The device id', () => {
  const webCrypto = Object.getOwnPropertyDescriptor(globalThis, 'crypto') ?? {}
  afterEach(() => Object.defineProperty(globalThis, 'crypto', webCrypto))

  // Shows: sidecar C16.10.
  it('a new device id differs each time, for any source of randomness', () => {
    const [first, second] = [createDeviceId(() => 0), createDeviceId(() => 0)]
    expect(first).to.match(/^[0-9a-f]{32}$/)
    expect(second).to.not.equal(first)
  })

  it("creates a device id from the app's random numbers if Web Crypto is missing", () => {
    Object.defineProperty(globalThis, 'crypto', { value: undefined, configurable: true })
    const numbers = Array.from({ length: 16 }, (_, index) => index / 16)
    expect(createDeviceId(() => numbers.shift() ?? 0)).to.equal('00102030405060708090a0b0c0d0e0f0')
  })
})
