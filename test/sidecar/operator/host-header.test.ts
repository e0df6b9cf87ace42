import { expect } from 'chai'
import { answersHost } from '../../../sidecar/operator/host-header.ts'

describe('The Host header of the operator port', () => {
  it('accepts a Host header with a loopback name or IP address, with or without port', () => {
    for (const name of ['localhost', 'LOCALHOST.', 'a.localhost', '127.0.0.1', '192.0.2.7', '[::1]', '[2001:db8::1]'])
      for (const header of [name, `${name}:9090`]) expect(answersHost(header, '127.0.0.1'), header).to.equal(true)
  })

  // Shows: sidecar C13.16.
  it('accepts a Host header with the name in admin.host, in any letter case', () => {
    for (const header of ['push-1', 'Push-1:9090', 'push-1.']) expect(answersHost(header, 'PUSH-1')).to.equal(true)
  })

  it('refuses a Host header with a name that only resembles an accepted one', () => {
    const names = [
      '',
      ':9090',
      'attacker.example',
      'localhost.attacker.example',
      '127.0.0.1.example',
      '[attacker.example]',
    ]
    for (const header of [...names, 'push-10', 'push-1.example']) expect(answersHost(header, 'push-1')).to.equal(false)
  })

  it('accepts a request without Host header, as from a balancer by HTTP/1.0', () => {
    expect(answersHost(undefined, '127.0.0.1')).to.equal(true)
  })
})
