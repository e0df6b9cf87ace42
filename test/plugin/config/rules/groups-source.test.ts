import { expect } from 'chai'
import { CLIENT, MINIMAL, problemPaths, warningsOf } from '../single-domain.ts'

const AZURE = { client: CLIENT, custom: { preset: 'azure', tenant_id: 'contoso.example' } }
const GOOGLE = { client: CLIENT, custom: { preset: 'google', customer_id: 'C1' } }
const ID_TOKEN = { ...CLIENT, response_types: 'id_token' }

describe('warnings about group settings', () => {
  it('warns of groups.recursive if no preset is used or groups.claim is set', () => {
    for (const oidc of [
      { ...MINIMAL, groups: { recursive: true } },
      { ...MINIMAL, groups: { recursive: true, claim: 'roles' } },
      { ...AZURE, groups: { recursive: true, claim: 'roles' } },
    ]) {
      expect(warningsOf(oidc)).to.deep.equal(['no_effect groups.recursive'])
    }
    for (const oidc of [
      { ...MINIMAL, groups: { recursive: false } },
      { ...AZURE, groups: { recursive: false, claim: 'roles' } },
      { ...AZURE, groups: { recursive: true } },
      { ...GOOGLE, groups: { recursive: true } },
    ]) {
      expect(warningsOf(oidc)).to.deep.equal([])
    }
  })

  it('warns that an empty groups.required refuses all users', () => {
    expect(warningsOf({ ...MINIMAL, groups: { required: [] } })).to.deep.equal(['nobody_admitted groups.required'])
    for (const groups of [{ required: 'a' }, { required: ['a'] }, { siteadmin: [] }, {}]) {
      expect(warningsOf({ ...MINIMAL, groups })).to.deep.equal([])
    }
  })

  it('adds no group warnings if the preset is misspelt or the groups object is invalid', () => {
    const custom = { preset: 'entra', tenant_id: 'x' }
    expect(warningsOf({ client: ID_TOKEN, custom, groups: { recursive: true } })).to.deep.equal([])
    for (const groups of [null, 5, []]) expect(problemPaths({ ...MINIMAL, groups })).to.deep.equal(['groups'])
  })
})
