import { expect } from 'chai'
import { clientAddressBy } from '../../../sidecar/api/requests/client-address.ts'
import { pure } from '../target.ts'

const SAMPLES = [
  '192.0.2.1',
  '2001:db8::1, 10.0.0.1',
  '[2001:db8::1]:443,192.0.2.1:80',
  '::ffff:192.0.2.1',
  'unknown, fe80::1%eth0',
]
const DIRECT = clientAddressBy(true)
const LISTED = clientAddressBy(['10.0.0.0/8', '::1'])

/** The header `X-Forwarded-For` from any client: it always yields one address of at most 45 characters. */
export const clientAddresses = pure('client-addresses', SAMPLES, (input) => {
  const header = input.toString('latin1')
  for (const clientOf of [DIRECT, LISTED]) expect(clientOf('10.0.0.1', header)).to.match(/^[\da-f.:/]{1,45}$/i)
})
