import { expect } from 'chai'
import { isPlaceholder } from '../../../../plugin/config/rules/placeholders.ts'
import { CLIENT, MINIMAL, problemPaths, readOne, warningsOf } from '../single-domain.ts'

describe('placeholders copied from an example', () => {
  it('recognizes the usual placeholders of examples and documentation', () => {
    for (const text of [
      '<Client ID from authentik>',
      'https://idp.example.com/o/<slug>/',
      'REPLACE',
      'REPLACE_ME',
      'replace-with-secret',
      'CHANGE_ME',
      'changeme',
      'your-client-id',
      'https://your-tenant.example.com',
      'xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx',
      'XXXX',
      '…',
    ]) {
      expect(isPlaceholder(text), text).to.equal(true)
    }
  })

  it('does not treat ordinary values such as "mesh" or "exchange-me" as placeholders', () => {
    for (const text of [
      'mesh',
      'https://idp.example.com/realms/mesh',
      '/mesh-users',
      'a<b',
      'exchange-me',
      'yours',
      'maxxxx-hosting',
      'irreplaceable',
      'kQ7~xxx.y_Z',
    ]) {
      expect(isPlaceholder(text), text).to.equal(false)
    }
  })

  // Shows: plugin 9.39.
  it('warns of placeholders in client and groups, without quoting them', () => {
    const client = { client_id: '<id>', client_secret: 'CHANGE_ME' }
    const oidc = { ...MINIMAL, client, groups: { required: ['a', 'your-group'] }, custom: { buttonText: '<Corp>' } }
    expect(problemPaths(oidc)).to.deep.equal([])
    expect(warningsOf(oidc)).to.deep.equal([
      'placeholder client.client_id',
      'placeholder client.client_secret',
      'placeholder groups.required[1]',
    ])
    expect(readOne(oidc).warnings.map(({ remedy }) => remedy)).to.deep.equal([
      'Write the client id that the IdP issued.',
      'Write the client secret that the IdP issued.',
      'Write the real value.',
    ])
  })

  it('a client secret of three dots causes one error and no placeholder warning', () => {
    const oidc = { ...MINIMAL, client: { ...CLIENT, client_secret: '…' } }
    expect(problemPaths(oidc)).to.deep.equal(['client.client_secret'])
    expect(warningsOf(oidc)).to.deep.equal([])
  })
})
