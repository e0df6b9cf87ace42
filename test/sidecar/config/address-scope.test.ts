import { expect } from 'chai'
import { isLocalName, isPublicAddress } from '../../../sidecar/config/address-scope.ts'

describe('The public internet addresses', () => {
  for (const address of [
    '8.8.8.8',
    '1.1.1.1',
    '172.32.0.1',
    '2001:4860:4860::8888',
    '::ffff:8.8.8.8',
    '64:ff9b::808:808',
  ])
    it(`${address} is a public address`, () => expect(isPublicAddress(address)).to.equal(true))

  const rest = {
    'of this machine': [
      '127.0.0.1',
      '127.9.9.9',
      '::1',
      '0.0.0.0',
      '::',
      '::ffff:127.0.0.1',
      '::7f00:1',
      '::127.0.0.1',
    ],
    'of a private network': [
      '10.0.0.1',
      '172.16.0.1',
      '172.31.255.255',
      '192.168.1.1',
      'fc00::1',
      'fd12::1',
      'fec0::1',
    ],
    'of a single link': ['169.254.169.254', 'fe80::1', 'fe80::1%eth0', '::ffff:169.254.169.254'],
    'shared by an operator': ['100.64.0.1', '100.127.255.255'],
    'of multicast or broadcast': ['224.0.0.1', '239.255.255.255', '255.255.255.255', 'ff02::1'],
    'reserved or for documentation': ['192.0.2.1', '198.51.100.1', '198.18.0.1', '240.0.0.1', '2001:db8::1', '4000::1'],
    'that embeds another one': [
      '2002:7f00:1::',
      '64:ff9b::7f00:1',
      '64:ff9b::a9fe:a9fe',
      '64:ff9b:1::1',
      '::ffff:0:7f00:1',
      '2001::1',
    ],
    'in an unusual notation': ['127.1', '0x7f.1', '2130706433', '0177.0.0.1', '::ffff:7f00:1'],
    'in an invalid form': ['', 'localhost', 'push.example.org', '1.2.3.4.5', '[::1]', ' 8.8.8.8'],
  }
  for (const [side, addresses] of Object.entries(rest))
    it(`an address ${side} is not public`, () => expect(addresses.filter(isPublicAddress)).to.deep.equal([]))
})

describe('Host names of the local network', () => {
  it('a host name is local if it has no dot or an ending that no public domain has', () => {
    for (const name of [
      'localhost',
      'LOCALHOST.',
      'intranet',
      'a.localhost',
      'ntfy.local',
      'db.internal',
      'x.home.arpa.',
    ])
      expect(isLocalName(name), name).to.equal(true)
    for (const name of ['ntfy.sh', 'push.example.org.', 'localhost.example.org', 'internal.com', 'mylocal.org'])
      expect(isLocalName(name), name).to.equal(false)
  })
})
