import { expect } from 'chai'
import { CLIENT, MINIMAL, problemPaths, readOne, warningsOf } from '../one-domain.ts'

const AZURE = { client: CLIENT, custom: { preset: 'azure', tenant_id: 'contoso.example' } }
const GOOGLE = { client: CLIENT, custom: { preset: 'google', customer_id: 'C1' } }
const ID_TOKEN = { ...CLIENT, response_types: 'id_token' }

describe('groups that are asked for where they do not come from', () => {
  it('are told of where recursive has no effect: without a preset, and beside a claim', () => {
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

  it('are told of where a claim is named and Google is asked all the same', () => {
    expect(warningsOf({ ...GOOGLE, groups: { claim: 'roles' } })).to.deep.equal(['no_effect groups.claim'])
    expect(warningsOf({ ...GOOGLE, groups: { claim: 'roles', recursive: true } })).to.deep.equal([
      'no_effect groups.claim',
    ])
    expect(warningsOf({ ...AZURE, groups: { claim: 'roles' } })).to.deep.equal([])
    expect(warningsOf({ ...MINIMAL, groups: { claim: 'roles' } })).to.deep.equal([])
  })

  it('are told of where the response type brings no access token to ask the vendor with', () => {
    for (const preset of [AZURE, GOOGLE]) {
      const oidc = { ...preset, client: ID_TOKEN, groups: { required: 'staff' } }
      expect(warningsOf(oidc)).to.deep.equal(['no_access_token client.response_types'])
      for (const response_types of ['code', 'code id_token', ['code id_token', 'id_token']]) {
        expect(warningsOf({ ...oidc, client: { ...CLIENT, response_types } })).to.deep.equal([])
      }
      expect(warningsOf({ ...preset, client: ID_TOKEN })).to.deep.equal([])
    }
    expect(warningsOf({ ...AZURE, client: ID_TOKEN, groups: { claim: 'roles' } })).to.deep.equal([])
    expect(warningsOf({ ...MINIMAL, client: ID_TOKEN, groups: {} })).to.deep.equal([])
    const remedies = [AZURE, GOOGLE].map(
      (preset) => readOne({ ...preset, client: ID_TOKEN, groups: {} }).warnings[0]?.remedy,
    )
    expect(remedies).to.deep.equal([
      'Use "code" or "code id_token", or name the claim with the groups in groups.claim.',
      'Use "code" or "code id_token".',
    ])
  })

  it('are told of where the list of those that may sign in is empty, which closes the domain', () => {
    expect(warningsOf({ ...MINIMAL, groups: { required: [] } })).to.deep.equal(['nobody_admitted groups.required'])
    for (const groups of [{ required: 'a' }, { required: ['a'] }, { siteadmin: [] }, {}]) {
      expect(warningsOf({ ...MINIMAL, groups })).to.deep.equal([])
    }
  })

  it('are spoken of by no rule that cannot know: a preset that is misspelt, a groups object that is none', () => {
    const custom = { preset: 'entra', tenant_id: 'x' }
    expect(warningsOf({ client: ID_TOKEN, custom, groups: { recursive: true } })).to.deep.equal([])
    for (const groups of [null, 5, []]) expect(problemPaths({ ...MINIMAL, groups })).to.deep.equal(['groups'])
  })
})
