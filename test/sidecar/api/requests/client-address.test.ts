import { expect } from 'chai'
import {
  clientAddressBy,
  clientOfPeerBy,
  newcomerNetwork,
  shownNetwork,
} from '../../../../sidecar/api/requests/client-address.ts'

const NETWORK = '2001:db8:0:7::/64'
const SOME = ['10.0.0.0/8', '192.0.2.5', '2001:db8:1::/48', 'fe80::/10']

describe('The client address of a request behind proxies', () => {
  // Shows: sidecar C1.23, C3.13.
  for (const [name, trusted, cases] of [
    [
      'without a trusted proxy, the client is the peer, whatever X-Forwarded-For says',
      false,
      [['192.0.2.1', '198.51.100.7', '192.0.2.1']],
    ],
    [
      'all addresses of an IPv6 /64 are the same client, in any spelling',
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
      'an IPv4 client on a dual-stack socket has its plain IPv4 address',
      false,
      ['::ffff:192.0.2.1', '::FFFF:192.0.2.1', '::ffff:c000:201'].map((peer) => [peer, undefined, '192.0.2.1']),
    ],
    ['the client address is empty when the peer has disconnected', false, [[undefined, undefined, '']]],
    [
      'the client is the last X-Forwarded-For entry if all proxies are trusted',
      true,
      [['10.0.0.1', '203.0.113.9, 198.51.100.7', '198.51.100.7']],
    ],
    [
      'the client is the trusted proxy if X-Forwarded-For has no valid address',
      true,
      [undefined, '198.51.100.7, unknown', ''].map((header) => ['10.0.0.1', header, '10.0.0.1']),
    ],
    [
      'reads X-Forwarded-For entries with ports, brackets and IPv4-mapped addresses',
      true,
      [
        ['10.0.0.1', '198.51.100.7:4711', '198.51.100.7'],
        ['10.0.0.1', '[2001:db8::1]:443', '2001:db8:0:0::/64'],
        ['10.0.0.1', '2001:db8::1', '2001:db8:0:0::/64'],
        ['10.0.0.1', '::ffff:198.51.100.7', '198.51.100.7'],
      ],
    ],
    [
      'the client is the last X-Forwarded-For entry that is not a trusted proxy',
      SOME,
      [
        ['10.1.2.3', '203.0.113.9, 198.51.100.7, 192.0.2.5', '198.51.100.7'],
        ...['2001:db8:1::9', '::ffff:10.1.2.3', 'fe80::1%eth0'].map((peer) => [peer, '198.51.100.7', '198.51.100.7']),
      ],
    ],
    ['the client is the peer if the peer is not a trusted proxy', SOME, [['198.51.100.1', '10.1.1.1', '198.51.100.1']]],
    [
      'the client is the first X-Forwarded-For entry if all are trusted proxies',
      SOME,
      [['10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3']],
    ],
  ] as const)
    it(name, () => {
      for (const [peer, header, expected] of cases)
        expect(clientAddressBy(trusted)(peer, header), `${peer} ${header}`).to.equal(expected)
    })
})

describe('The client address of a connection', () => {
  it('identifies the client of a connection by its IPv4 address or IPv6 /64 network', () => {
    for (const trustProxy of [false, ['10.0.0.0/8']])
      expect(['::ffff:192.0.2.1', '2001:db8:0:7:ffff::2'].map(clientOfPeerBy(trustProxy))).to.deep.equal([
        '192.0.2.1',
        NETWORK,
      ])
  })

  it('a connection from a trusted proxy is not attributed to a client', () => {
    for (const peer of ['10.1.2.3', '::ffff:10.1.2.3', '2001:db8:1::9'])
      expect(clientOfPeerBy(SOME)(peer), peer).to.equal(undefined)
    expect(clientOfPeerBy(true)('192.0.2.1')).to.equal(undefined)
  })
})

describe('The network of a client', () => {
  it('new stations are limited per IPv6 /56, or per IPv4 address', () => {
    for (const [client, network] of [
      ['2001:db8:1:2f3::/64', '2001:db8:1:200::/56'],
      ['2001:db8:1:ff::/64', '2001:db8:1:0::/56'],
      ['192.0.2.7', '192.0.2.7'],
      ['', ''],
    ] as const)
      expect(newcomerNetwork(client)).to.equal(network)
  })

  it('the log shows a client as its IPv4 /24 or IPv6 /56', () => {
    expect(shownNetwork('192.0.2.77')).to.equal('192.0.2.0/24')
    expect(shownNetwork('2001:db8:1:2f3::/64')).to.equal('2001:db8:1:200::/56')
    expect(shownNetwork('')).to.equal('')
  })
})
