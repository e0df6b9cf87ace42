import { expect } from 'chai'
import { LoginError } from '../../../plugin/errors.ts'
import { profileOf } from '../../../plugin/login/profile.ts'

const names = { uuid: 'sub', name: 'name', email: 'email' }

describe('claims to identity', () => {
  it('makes the id of the strategy name and the configured claim, unchanged', () => {
    expect(profileOf({ sub: 'a/B c|9' }, names).id).to.equal('~oidc:a/B c|9')
    expect(profileOf({ sub: 'x', oid: 'y' }, { ...names, uuid: 'oid' }).id).to.equal('~oidc:y')
  })

  for (const subject of [
    undefined,
    null,
    7,
    true,
    ['x'],
    { a: 1 },
    '',
    '   ',
    'a\nb',
    'a\u0000',
    'a\u202eb',
    'a\u200bb',
    '\ud800',
    'a'.repeat(256),
  ]) {
    it(`refuses ${JSON.stringify(subject)?.slice(0, 20)} as an id`, () => {
      expect(() => profileOf({ sub: subject }, names))
        .to.throw(LoginError)
        .with.property('code', 'subject_unusable')
    })
  }

  it('does not fall back to another claim when the configured one is missing', () => {
    expect(() => profileOf({ sub: 'x' }, { ...names, uuid: 'oid' })).to.throw(LoginError)
  })

  it('takes name and address from the configured claims', () => {
    const claims = { sub: '1', display: 'Ann', mail: 'ann@example.org', name: 'no', email: 'no@example.org' }
    const profile = profileOf(claims, { uuid: 'sub', name: 'display', email: 'mail' })
    expect(profile).to.include({ name: 'Ann', email: 'ann@example.org' })
  })

  it('never leaves a person without a name', () => {
    expect(profileOf({ sub: '1', preferred_username: 'ann', email: 'a@b.c' }, names).name).to.equal('ann')
    expect(profileOf({ sub: '1', email: 'a@b.c' }, names).name).to.equal('a@b.c')
    expect(profileOf({ sub: '1', name: '' }, names).name).to.equal('1')
  })

  it('takes line breaks and control characters out of a name', () => {
    expect(profileOf({ sub: '1', name: 'Ann\r\n\u001b[31mroot' }, names).name).to.equal('Ann [31mroot')
  })

  it('counts an address as verified only when the IdP says exactly true', () => {
    const verified = (email_verified: unknown) =>
      profileOf({ sub: '1', email: 'a@b.c', email_verified }, names).emailVerified
    expect(verified(true)).to.equal(true)
    for (const other of [false, 'true', 1, undefined, null]) expect(verified(other)).to.equal(false)
    expect(profileOf({ sub: '1', email_verified: true }, names).emailVerified).to.equal(false)
  })
})
