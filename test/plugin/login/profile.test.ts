import { expect } from 'chai'
import { LoginError } from '../../../plugin/errors.ts'
import { profileOf } from '../../../plugin/login/profile.ts'

const names = { uuid: 'sub', name: 'name', email: 'email' }

describe("user's profile from claims", () => {
  // Shows: plugin 2.10, 10.16.
  it('the user id is ~oidc: followed by the unchanged id claim', () => {
    expect(profileOf({ sub: 'a/B c|9' }, names).id).to.equal('~oidc:a/B c|9')
    expect(profileOf({ sub: 'x', oid: 'y' }, { ...names, uuid: 'oid' }).id).to.equal('~oidc:y')
    expect(profileOf({ sub: 'a'.repeat(255) }, names).id).to.have.length(6 + 255)
  })

  for (const subject of [undefined, 7, '', '   ', 'a\nb', 'a\u202eb', 'a\u200bb', '\ud800', 'a'.repeat(256)]) {
    it(`refuses a user with ${JSON.stringify(subject)?.slice(0, 20)} as sub`, () => {
      expect(() => profileOf({ sub: subject }, names))
        .to.throw(LoginError)
        .with.deep.include({ code: 'subject_unusable', details: { claim: 'sub' } })
    })
  }

  // Shows: plugin 5.3, 10.16.
  it('refuses a user without the configured id claim, even if sub exists', () => {
    expect(() => profileOf({ sub: 'x' }, { ...names, uuid: 'oid' })).to.throw(LoginError)
  })

  // Shows: meshcentral 25.
  it("removes control characters from a user's name, and replaces a name left empty", () => {
    for (const [claims, name] of [
      [{ preferred_username: 'ann', email: 'a@b.c' }, 'ann'],
      [{ email: 'a@b.c' }, 'a@b.c'],
      [{ name: '' }, '1'],
      [{ name: '\u200d \u200c' }, '1'],
      [{ name: '\u202e Ann\n' }, 'Ann'],
      [{ name: 'Ann\r\n\u001b[31mroot' }, 'Ann [31mroot'],
      [{ name: 'می\u200cخواهم \u202eक्\u200dष 👩\u200d🚀' }, 'می\u200cخواهم  क्\u200dष 👩\u200d🚀'],
    ] as const)
      expect(profileOf({ sub: '1', ...claims }, names).name).to.equal(name)
    expect(profileOf({ sub: '1', email: 'a\u200db@c.d' }, names).email).to.equal('a b@c.d')
    expect(profileOf({ sub: '1', email: '\ta\r\nb@c.d\n' }, names).email).to.equal('a b@c.d')
  })

  // Shows: plugin 5.4.
  it("reports whether a user's name comes from the configured claim or is a fallback", () => {
    const isClaimed = (claims: object, name = 'name') =>
      profileOf({ sub: '1', ...claims }, { ...names, name }).isNameClaimed
    expect(isClaimed({ name: 'Ann' })).to.equal(true)
    expect(isClaimed({ name: 'Ann', callsign: 'N0CALL' }, 'callsign')).to.equal(true)
    for (const claims of [{}, { preferred_username: 'ann' }, { name: '', email: 'a@b.c' }, { name: 7 }]) {
      expect(isClaimed(claims), JSON.stringify(claims)).to.equal(false)
    }
    expect(isClaimed({ name: 'Ann' }, 'callsign')).to.equal(false)
  })

  // Shows: plugin 10.8.
  it('an e-mail address is verified only if email_verified is true or "true"', () => {
    const verified = (email_verified: unknown) =>
      profileOf({ sub: '1', email: 'a@b.c', email_verified }, names).emailVerified
    for (const value of [true, 'true']) expect(verified(value)).to.equal(true)
    for (const value of [false, 'false', 'TRUE', 'yes', '', 1, [true]]) expect(verified(value)).to.equal(false)
    expect(profileOf({ sub: '1', email_verified: true }, names).emailVerified).to.equal(false)
  })

  it('without email_verified, verification is null for email, false for other claims', () => {
    const claims = { sub: '1', email: 'a@b.c', upn: 'u@b.c' }
    for (const claim of [{}, { email_verified: null }]) {
      expect(profileOf({ ...claims, ...claim }, names).emailVerified).to.equal(null)
      expect(profileOf({ ...claims, ...claim }, { ...names, email: 'upn' }).emailVerified).to.equal(false)
    }
    expect(profileOf({ sub: '1' }, names).emailVerified).to.equal(null)
    expect(profileOf({ sub: '1', email: 'a@b.c' }, { ...names, email: 'upn' }).emailVerified).to.equal(null)
  })

  // Shows: plugin 10.15.
  it('while UserInfo fails, a missing e-mail claim is unknown, not empty', () => {
    const known = (claims: object, isPartial: boolean, email = 'email') => {
      const { isEmailKnown, isVerificationKnown } = profileOf({ sub: '1', ...claims }, { ...names, email }, isPartial)
      return [isEmailKnown, isVerificationKnown]
    }
    expect(known({}, false)).to.deep.equal([true, true])
    expect(known({}, true)).to.deep.equal([false, false])
    expect(known({ email_verified: true }, true)).to.deep.equal([false, false])
    expect(known({ email: 'a@b.c' }, true)).to.deep.equal([true, false])
    expect(known({ email: '', email_verified: false }, true)).to.deep.equal([true, true])
    // UserInfo could have said that the address in `mail` is the verified address in `email`.
    expect(known({ mail: 'a@b.c', email_verified: true }, true, 'mail')).to.deep.equal([true, false])
  })

  it("shortens a user's long name without splitting a character", () => {
    const woman = '👩\u200d🚀'
    const nameOf = (claims: object) => profileOf({ sub: '1', ...claims }, names).name
    expect(nameOf({ name: woman.repeat(100) })).to.equal(woman.repeat(51))
    expect(nameOf({ name: `e${'\u0301'.repeat(2000)}`, preferred_username: 'ann' })).to.equal('ann')
    expect(nameOf({ name: 'x'.repeat(5000) })).to.have.length(255)
    expect(nameOf({ name: `${'x'.repeat(254)} ${'y'.repeat(10)}` })).to.equal('x'.repeat(254))
  })

  it('reads id, name and e-mail address of a user from nested claims', () => {
    const claims = { sub: '1', who: { id: 'x9', 'full.name': 'Ann', mail: { work: 'a@b.c' } } }
    const profile = profileOf(claims, { uuid: 'who.id', name: 'who.full.name', email: 'who.mail.work' })
    const known = { isNameClaimed: true, isEmailKnown: true, isVerificationKnown: true }
    expect(profile).to.deep.equal({ id: '~oidc:x9', name: 'Ann', email: 'a@b.c', emailVerified: false, ...known })
  })

  it('refuses an unverified e-mail address if users are identified by address', () => {
    const claims = { sub: '1', email: 'a@b.c', upn: 'a@b.c' }
    for (const [uuid, email] of [
      ['email', 'email'],
      ['email', 'upn'],
      ['upn', 'upn'],
    ] as const) {
      const login = (email_verified?: unknown) => profileOf({ ...claims, email_verified }, { ...names, uuid, email })
      for (const denied of [false, 'false']) {
        expect(() => login(denied))
          .to.throw(LoginError, /has not verified this one/)
          .with.deep.include({ code: 'subject_unusable', details: { claim: uuid, reason: 'email_verified is false' } })
      }
      for (const value of [true, 'true', undefined]) expect(login(value).id).to.equal('~oidc:a@b.c')
    }
    expect(profileOf({ ...claims, email_verified: false }, names).id).to.equal('~oidc:1')
  })
})
