import { expect } from 'chai'
import fc from 'fast-check'
import { admitsAddress, isListed, loginKeyOf } from '../../../../plugin/meshcentral/pages/gate.ts'
import { withLoginKey } from '../../../../plugin/meshcentral/pages/login-page.ts'
import type { MeshDomain, MeshRequest } from '../../../../plugin/meshcentral/server.ts'

const domain = (members: Partial<MeshDomain> = {}): MeshDomain => ({ id: '', url: '/', ...members })

describe('address lists of MeshCentral', () => {
  const octet = fc.integer({ min: 0, max: 255 })
  const address = fc.tuple(octet, octet, octet, octet)
  const bitsOf = (octets: readonly number[]) => octets.map((octet) => octet.toString(2).padStart(8, '0')).join('')

  it('an address range contains exactly the addresses that begin with its bits', () => {
    fc.assert(
      fc.property(address, address, fc.integer({ min: 0, max: 32 }), (client, base, bits) => {
        const same = bitsOf(client).slice(0, bits) === bitsOf(base).slice(0, bits)
        expect(isListed(client.join('.'), [`${base.join('.')}/${bits}`])).to.equal(same)
      }),
    )
  })

  it('an address list matches single addresses, ranges, and IPv4 in IPv6 form', () => {
    expect(isListed('10.1.2.3', ['10.1.2.3'])).to.equal(true)
    expect(isListed('10.1.2.4', ['10.1.2.3'])).to.equal(false)
    expect(isListed('2001:db8::1', ['2001:db8::/32'])).to.equal(true)
    expect(isListed('2001:db9::1', ['2001:db8::/32'])).to.equal(false)
    expect(isListed('::ffff:10.1.2.3', ['10.1.0.0/16'])).to.equal(true)
    expect(isListed('fe80::1%e-0:1', ['fe80::/10'])).to.equal(true)
  })

  it('an invalid entry or address in an address list matches nothing', () => {
    for (const entry of ['', 'x', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/-1', '10/8', '127.1', '1.2.3.4/8/8', 7, null]) {
      expect(isListed('10.0.0.1', [entry]), String(entry)).to.equal(false)
    }
    expect(isListed('nonsense', ['0.0.0.0/0', '::/0'])).to.equal(false)
  })

  it('admits an address unless it is blocked or missing from a configured allow list', () => {
    expect(admitsAddress({}, '10.0.0.1')).to.equal(true)
    expect(admitsAddress({ userblockedip: ['10.0.0.0/8'] }, '10.0.0.1')).to.equal(false)
    expect(admitsAddress({ userblockedip: ['10.0.0.0/8'] }, '11.0.0.1')).to.equal(true)
    expect(admitsAddress({ userallowedip: ['10.0.0.0/8'] }, '11.0.0.1')).to.equal(false)
    expect(admitsAddress({ userallowedip: ['10.0.0.0/8'], userblockedip: ['10.0.0.1'] }, '10.0.0.1')).to.equal(false)
    expect(admitsAddress({ userallowedip: [] }, '10.0.0.1')).to.equal(false)
    expect(admitsAddress({ userallowedip: ['0.0.0.0/0'] }, undefined)).to.equal(false)
  })
})

describe('login key of a domain', () => {
  it('a domain with login keys accepts only requests with one of these keys', () => {
    expect(loginKeyOf(domain(), 'any')).to.equal(undefined)
    const keyed = domain({ loginkey: ['one', 'two'] })
    expect(loginKeyOf(keyed, 'two')).to.equal('two')
    for (const key of [undefined, '', 'three', ['one'], 'one,two']) expect(loginKeyOf(keyed, key)).to.equal(null)
  })

  it("adds the login key in the browser's cookie to a redirect if the key is valid", () => {
    const request = (cookie: string) =>
      ({ headers: { cookie }, xdomain: domain({ loginkey: ['k 1'] }) }) as unknown as MeshRequest
    expect(withLoginKey('/login?a=b#c', request('__Host-oidc-key=k%201'))).to.equal('/login?a=b&key=k+1#c')
    expect(withLoginKey('/login', request('__Host-oidc-key=other'))).to.equal('/login')
    expect(withLoginKey('/login', request(''))).to.equal('/login')
  })
})
