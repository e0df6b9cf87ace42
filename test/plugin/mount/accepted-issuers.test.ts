import { expect } from 'chai'
import { AcceptedIssuers } from '../../../plugin/mount/accepted-issuers.ts'
import { MINIMAL, settingsOf } from '../config/single-domain.ts'

describe('accepted issuers of sessions', () => {
  const open = (issuer: string, previous_issuers: readonly string[] = []) => {
    const issuers = new AcceptedIssuers()
    issuers.add(settingsOf({ ...MINIMAL, issuer, custom: { previous_issuers } }))
    return { issuers, counts: (name: string) => issuers.accepts({ domainKey: '', issuer: name }) }
  }
  const TENANT = '11111111-2222-3333-4444-555555555555'
  const OTHER = '99999999-2222-3333-4444-555555555555'

  // Shows: plugin 5.13.
  it('accepts sessions of previous issuers, and of the issuer with or without a slash', () => {
    const { counts } = open('https://idp.example/.well-known/openid-configuration', ['https://old.example'])
    for (const name of ['https://idp.example', 'https://idp.example/', 'https://old.example/']) {
      expect(counts(name), name).to.equal(true)
    }
    for (const name of ['https://idp.example/realms/b', 'http://old.example', '']) {
      expect(counts(name), name).to.equal(false)
    }
  })

  it('after discovery, accepts sessions of the published issuer, not of another tenant', () => {
    const { issuers, counts } = open('https://login.microsoftonline.com/contoso.com/v2.0')
    const published = `https://login.microsoftonline.com/${TENANT}/v2.0`
    expect(counts(published)).to.equal(true)
    issuers.notePublished('', published)
    expect(counts(published)).to.equal(true)
    expect(counts(`https://login.microsoftonline.com/${OTHER}/v2.0`)).to.equal(false)
  })

  it('in a domain that this process does not serve, accepts sessions of every issuer', () => {
    const { issuers } = open('https://idp.example')
    issuers.notePublished('customer', 'https://idp.example')
    expect(issuers.accepts({ domainKey: 'customer', issuer: 'https://other.example' })).to.equal(true)
  })
})
