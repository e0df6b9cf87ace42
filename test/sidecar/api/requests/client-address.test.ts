import { expect } from 'chai'
import {
  clientAddressBy,
  clientOfPeerBy,
  newcomerNetwork,
  shownNetwork,
} from '../../../../sidecar/api/requests/client-address.ts'

const NETWORK = '2001:db8:0:7::/64'
const SOME = ['10.0.0.0/8', '192.0.2.5', '2001:db8:1::/48', 'fe80::/10']

describe('the client that a request counts for', () => {
  // Shows: sidecar C1.23, C3.13.
  for (const [name, trusted, cases] of [
    ['is the peer, whatever X-Forwarded-For says', false, [['192.0.2.1', '198.51.100.7', '192.0.2.1']]],
    [
      'is one for a whole IPv6 /64, however its addresses are written',
      false,
      [
        ['2001:db8:0:7::1', undefined, NETWORK],
        ['2001:0DB8:0000:0007:ffff:ffff:ffff:ffff', undefined, NETWORK],
        ['2001:db8:0:7:0:0:192.0.2.1', undefined, NETWORK],
        ['2001:db8:0:8::1', undefined, '2001:db8:0:8::/64'],
        ['fe80::1%eth0', undefined, 'fe80:0:0:0::/64'],
        ['fe80::1%e-0:1', undefined, 'fe80:0:0:0::/64'],
        ['::1', undefined, '0:0:0:0::/64'],
      ],
    ],
    [
      'is the IPv4 address that a dual-stack socket shows as IPv6',
      false,
      ['::ffff:192.0.2.1', '::FFFF:192.0.2.1', '::ffff:c000:201'].map((peer) => [peer, undefined, '192.0.2.1']),
    ],
    ['is nobody in particular when the peer is gone', false, [[undefined, undefined, '']]],
    [
      'is the last entry, which a peer wrote that is trusted like all',
      true,
      [['10.0.0.1', '203.0.113.9, 198.51.100.7', '198.51.100.7']],
    ],
    [
      'is the trusted peer when there is no entry, or it is no address',
      true,
      [undefined, '198.51.100.7, unknown', ''].map((header) => ['10.0.0.1', header, '10.0.0.1']),
    ],
    [
      'is found behind ports, brackets and mapped addresses',
      true,
      [
        ['10.0.0.1', '198.51.100.7:4711', '198.51.100.7'],
        ['10.0.0.1', '[2001:db8::1]:443', '2001:db8:0:0::/64'],
        ['10.0.0.1', '2001:db8::1', '2001:db8:0:0::/64'],
        ['10.0.0.1', '::ffff:198.51.100.7', '198.51.100.7'],
      ],
    ],
    [
      'is the last entry that no trusted proxy is',
      SOME,
      [
        ['10.1.2.3', '203.0.113.9, 198.51.100.7, 192.0.2.5', '198.51.100.7'],
        ...['2001:db8:1::9', '::ffff:10.1.2.3', 'fe80::1%eth0'].map((peer) => [peer, '198.51.100.7', '198.51.100.7']),
      ],
    ],
    ['is the peer when it is no trusted proxy', SOME, [['198.51.100.1', '10.1.1.1', '198.51.100.1']]],
    ['is the furthest proxy when all entries are trusted', SOME, [['10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3']]],
  ] as const)
    it(name, () => {
      for (const [peer, header, expected] of cases)
        expect(clientAddressBy(trusted)(peer, header), `${peer} ${header}`).to.equal(expected)
    })
})

describe('the client that a connection counts for', () => {
  it('is the peer, for IPv6 its /64', () => {
    for (const trustProxy of [false, ['10.0.0.0/8']])
      expect(['::ffff:192.0.2.1', '2001:db8:0:7:ffff::2'].map(clientOfPeerBy(trustProxy))).to.deep.equal([
        '192.0.2.1',
        NETWORK,
      ])
  })

  it('a trusted proxy as the peer is no client', () => {
    for (const peer of ['10.1.2.3', '::ffff:10.1.2.3', '2001:db8:1::9'])
      expect(clientOfPeerBy(SOME)(peer), peer).to.equal(undefined)
    expect(clientOfPeerBy(true)('192.0.2.1')).to.equal(undefined)
  })
})

describe('the network of a client', () => {
  it('is the /56 of an IPv6 address for new stations, and the IPv4 address alone', () => {
    for (const [client, network] of [
      ['2001:db8:1:2f3::/64', '2001:db8:1:200::/56'],
      ['2001:db8:1:ff::/64', '2001:db8:1:0::/56'],
      ['192.0.2.7', '192.0.2.7'],
      ['', ''],
    ] as const)
      expect(newcomerNetwork(client)).to.equal(network)
  })

  it('is a /24 or a /56 in the log', () => {
    expect(shownNetwork('192.0.2.77')).to.equal('192.0.2.0/24')
    expect(shownNetwork('2001:db8:1:2f3::/64')).to.equal('2001:db8:1:200::/56')
    expect(shownNetwork('')).to.equal('')
  })
})
