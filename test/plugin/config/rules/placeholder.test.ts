import { expect } from 'chai'
import { CLIENT, ISSUER, MINIMAL, problemPaths, readOne, settingsOf } from '../single-domain.ts'

describe('client secret copied from an example', () => {
  it('refuses three dots as client secret, also in the deprecated member clientsecret', () => {
    for (const client_secret of ['…', ' … ', '...']) {
      const [problem] = readOne({ ...MINIMAL, client: { ...CLIENT, client_secret } }).problems
      expect(problem).to.include({
        path: 'domains[""].authStrategies.oidc.client.client_secret',
        reason: 'is still the placeholder',
        remedy: 'Write the client secret that the IdP issued.',
      })
    }
    expect(problemPaths({ issuer: ISSUER, clientid: 'mesh', clientsecret: '…' })).to.deep.equal(['clientsecret'])
  })

  it('accepts a client secret that contains dots but is not exactly three dots', () => {
    for (const client_secret of ['a…', '....', '…x…', '.']) {
      expect(settingsOf({ ...MINIMAL, client: { ...CLIENT, client_secret } }).client.client_secret).to.equal(
        client_secret,
      )
    }
  })
})
