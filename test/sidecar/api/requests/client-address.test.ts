import { expect } from 'chai'
import { clientAddressBy, clientOfPeerBy } from '../../../../sidecar/api/requests/client-address.ts'

describe('the client that a request counts for', () => {
  describe('without a trusted proxy', () => {
    const clientOf = clientAddressBy(false)

    it('is the peer, whatever X-Forwarded-For says', () => {
      expect(clientOf('192.0.2.1', '198.51.100.7')).to.equal('192.0.2.1')
    })

    it('is one for a whole IPv6 /64, however its addresses are written', () => {
      const network = '2001:db8:0:7::/64'
      expect(clientOf('2001:db8:0:7::1', undefined)).to.equal(network)
      expect(clientOf('2001:0DB8:0000:0007:ffff:ffff:ffff:ffff', undefined)).to.equal(network)
      expect(clientOf('2001:db8:0:7:0:0:192.0.2.1', undefined)).to.equal(network)
      expect(clientOf('2001:db8:0:8::1', undefined)).to.not.equal(network)
      expect(clientOf('fe80::1%eth0', undefined)).to.equal('fe80:0:0:0::/64')
      expect(clientOf('fe80::1%e-0:1', undefined)).to.equal('fe80:0:0:0::/64')
      expect(clientOf('::1', undefined)).to.equal('0:0:0:0::/64')
    })

    it('is the IPv4 address that a dual-stack socket shows as IPv6', () => {
      expect(clientOf('::ffff:192.0.2.1', undefined)).to.equal('192.0.2.1')
      expect(clientOf('::FFFF:192.0.2.1', undefined)).to.equal('192.0.2.1')
      expect(clientOf('::ffff:c000:201', undefined)).to.equal('192.0.2.1')
    })

    it('is nobody in particular when the peer is gone', () => {
      expect(clientOf(undefined, undefined)).to.equal('')
    })
  })

  describe('when whoever connects is trusted', () => {
    const clientOf = clientAddressBy(true)

    it('is the last entry, which the peer wrote', () => {
      expect(clientOf('10.0.0.1', '203.0.113.9, 198.51.100.7')).to.equal('198.51.100.7')
    })

    it('is the peer when there is no entry, or it is no address', () => {
      expect(clientOf('10.0.0.1', undefined)).to.equal('10.0.0.1')
      expect(clientOf('10.0.0.1', '198.51.100.7, unknown')).to.equal('10.0.0.1')
      expect(clientOf('10.0.0.1', '')).to.equal('10.0.0.1')
    })

    it('is found behind ports, brackets and mapped addresses', () => {
      expect(clientOf('10.0.0.1', '198.51.100.7:4711')).to.equal('198.51.100.7')
      expect(clientOf('10.0.0.1', '[2001:db8::1]:443')).to.equal('2001:db8:0:0::/64')
      expect(clientOf('10.0.0.1', '2001:db8::1')).to.equal('2001:db8:0:0::/64')
      expect(clientOf('10.0.0.1', '::ffff:198.51.100.7')).to.equal('198.51.100.7')
    })
  })

  describe('when some proxies are trusted', () => {
    const clientOf = clientAddressBy(['10.0.0.0/8', '192.0.2.5', '2001:db8:1::/48', 'fe80::/10'])

    it('is the last entry that no trusted proxy is', () => {
      expect(clientOf('10.1.2.3', '203.0.113.9, 198.51.100.7, 192.0.2.5')).to.equal('198.51.100.7')
      expect(clientOf('2001:db8:1::9', '198.51.100.7')).to.equal('198.51.100.7')
      expect(clientOf('::ffff:10.1.2.3', '198.51.100.7')).to.equal('198.51.100.7')
      expect(clientOf('fe80::1%eth0', '198.51.100.7')).to.equal('198.51.100.7')
    })

    it('is the peer when it is not one of them', () => {
      expect(clientOf('198.51.100.1', '10.1.1.1')).to.equal('198.51.100.1')
    })

    it('is the furthest proxy when all entries are trusted', () => {
      expect(clientOf('10.0.0.1', '10.0.0.3, 10.0.0.2')).to.equal('10.0.0.3')
    })
  })
})

describe('the client that a connection counts for', () => {
  it('is the peer, for IPv6 its /64', () => {
    for (const trustProxy of [false, ['10.0.0.0/8']]) {
      const clientOf = clientOfPeerBy(trustProxy)
      expect(clientOf('::ffff:192.0.2.1')).to.equal('192.0.2.1')
      expect(clientOf('2001:db8:0:7::1')).to.equal(clientOf('2001:db8:0:7:ffff::2'))
      expect(clientOf('2001:db8:0:7::1')).to.not.equal(clientOf('2001:db8:0:8::1'))
    }
  })

  it('is nobody when the peer is a trusted proxy', () => {
    const clientOf = clientOfPeerBy(['10.0.0.0/8', '2001:db8:1::/48'])
    expect(['10.1.2.3', '::ffff:10.1.2.3', '2001:db8:1::9'].map(clientOf)).to.deep.equal([
      undefined,
      undefined,
      undefined,
    ])
    expect(clientOfPeerBy(true)('192.0.2.1')).to.equal(undefined)
  })
})
