import { expect } from 'chai'
import type { ReadOptions } from '../../../plugin/mount/read-domains.ts'
import { CLIENT, ISSUER, problemPaths, settingsOf, warningsOf } from './single-domain.ts'

const TENANT = '5d7c3f0e-1111-2222-3333-444455556666'
/** The options of MeshCentral's adapter and of `--meshcentral`. */
const MESHCENTRAL: ReadOptions = { inferPresets: true, unknownKeys: 'warn' }
const custom = (members: object, more: object = {}) =>
  settingsOf({ client: CLIENT, custom: members, ...more }, MESHCENTRAL)

describe('presets inferred from other members on MeshCentral', () => {
  it('infers the Azure preset from tenant_id or the deprecated tenantid', () => {
    for (const oidc of [{ custom: { tenant_id: TENANT } }, { tenantid: TENANT }, { custom: { TENANT_ID: TENANT } }]) {
      const settings = settingsOf({ client: CLIENT, ...oidc }, MESHCENTRAL)
      expect(settings.custom).to.deep.include({ preset: 'azure', presetMembers: { tenant_id: TENANT } })
      expect(settings.issuer.issuer).to.equal(`https://login.microsoftonline.com/${TENANT}/v2.0`)
    }
    expect(problemPaths({ client: CLIENT, custom: { tenant_id: 'common' } }, MESHCENTRAL)).to.deep.equal([
      'custom.tenant_id',
    ])
  })

  // Shows: plugin 5.16.
  it('infers the Google preset from customer_id or identitysource', () => {
    expect(custom({ customer_id: 'C1' }).custom).to.deep.include({ preset: 'google' })
    expect(settingsOf({ client: CLIENT, customerid: 'C1' }, MESHCENTRAL).custom.preset).to.equal('google')
    expect(custom({ identitySource: 'abc' }, { groups: {} }).custom).to.deep.include({
      preset: 'google',
      presetMembers: { identitysource: 'abc' },
    })
  })

  it('infers the Google preset and warns if both tenant_id and customer_id are set', () => {
    const both = { client: CLIENT, custom: { tenant_id: TENANT, customer_id: 'C1' } }
    expect(settingsOf(both, MESHCENTRAL).custom.preset).to.equal('google')
    expect(warningsOf(both, MESHCENTRAL)).to.deep.equal(['no_effect custom.tenant_id'])
  })

  it('infers no preset if custom.preset is set or null', () => {
    expect(custom({ preset: 'azure', tenant_id: TENANT, customer_id: 'C1' }).custom.preset).to.equal('azure')
    const none = { issuer: ISSUER, client: CLIENT, custom: { preset: null, tenant_id: TENANT } }
    expect(settingsOf(none, MESHCENTRAL)).to.deep.include({ issuer: { issuer: ISSUER, manual: {} } })
    expect(settingsOf(none, MESHCENTRAL).custom.preset).to.equal(null)
  })

  it('keeps the configured issuer and warns if the preset is inferred', () => {
    for (const issuer of [ISSUER, { issuer: ISSUER, end_session_endpoint: `${ISSUER}/out` }]) {
      const oidc = { issuer, client: CLIENT, custom: { tenant_id: TENANT }, groups: {} }
      const settings = settingsOf(oidc, MESHCENTRAL)
      expect(settings.issuer.issuer).to.equal(ISSUER)
      expect(settings.custom.preset).to.equal('azure')
      expect(settings.groups?.scope).to.equal('Group.Read.All')
      expect(warningsOf(oidc, MESHCENTRAL)).to.deep.equal([
        `issuer_kept issuer${typeof issuer === 'string' ? '' : '.issuer'}`,
      ])
      const wrong = { ...oidc, issuer: typeof issuer === 'string' ? 'x' : { ...issuer, issuer: 'x' } }
      expect(problemPaths(wrong, MESHCENTRAL)).to.have.length(1)
    }
    const chosen = { issuer: ISSUER, client: CLIENT, custom: { preset: 'azure', tenant_id: TENANT } }
    expect(settingsOf(chosen, MESHCENTRAL).issuer.issuer).to.include(TENANT)
  })

  it('infers no preset from tenant_id on hosts other than MeshCentral, and warns', () => {
    const oidc = { issuer: ISSUER, client: CLIENT, custom: { tenant_id: TENANT } }
    expect(settingsOf(oidc).custom.preset).to.equal(null)
    expect(warningsOf(oidc)).to.deep.equal(['no_effect custom.tenant_id'])
    for (const member of [{ customer_id: 'C1' }, { identitysource: 'abc' }]) {
      const [name] = Object.keys(member)
      expect(warningsOf({ ...oidc, custom: member })).to.deep.equal([`no_effect custom.${name}`])
    }
    expect(problemPaths({ client: CLIENT, custom: { tenant_id: TENANT } })).to.deep.equal(['issuer'])
  })
})
