import { expect } from 'chai'
import { LoginError } from '../../../plugin/errors.ts'
import { profileOf } from '../../../plugin/login/profile.ts'

const names = { uuid: 'sub', name: 'name', email: 'email' }

describe('claims to identity', () => {
  // Shows: plugin 2.10, 10.16.
  it('makes the id of the strategy name and the configured claim, unchanged', () => {
    expect(profileOf({ sub: 'a/B c|9' }, names).id).to.equal('~oidc:a/B c|9')
    expect(profileOf({ sub: 'x', oid: 'y' }, { ...names, uuid: 'oid' }).id).to.equal('~oidc:y')
    expect(profileOf({ sub: 'a'.repeat(255) }, names).id).to.have.length(6 + 255)
  })

  for (const subject of [undefined, 7, '', '   ', 'a\nb', 'a\u202eb', 'a\u200bb', '\ud800', 'a'.repeat(256)]) {
    it(`refuses ${JSON.stringify(subject)?.slice(0, 20)} as an id`, () => {
      expect(() => profileOf({ sub: subject }, names))
        .to.throw(LoginError)
        .with.deep.include({ code: 'subject_unusable', details: { claim: 'sub' } })
    })
  }

  // Shows: plugin 5.3, 10.16.
  it('does not fall back to another claim when the configured one is missing', () => {
    expect(() => profileOf({ sub: 'x' }, { ...names, uuid: 'oid' })).to.throw(LoginError)
  })

  // Shows: meshcentral 25.
  it('takes control and direction characters out of a name, keeps its joiners, and never leaves a person without one', () => {
    for (const [claims, name] of [
      [{ preferred_username: 'ann', email: 'a@b.c' }, 'ann'],
      [{ email: 'a@b.c' }, 'a@b.c'],
      [{ name: '' }, '1'],
      [{ name: '\u200d \u200c' }, '1'],
      [{ name: 'Ann\r\n\u001b[31mroot' }, 'Ann [31mroot'],
      [{ name: 'می\u200cخواهم \u202eक्\u200dष 👩\u200d🚀' }, 'می\u200cخواهم  क्\u200dष 👩\u200d🚀'],
    ] as const)
      expect(profileOf({ sub: '1', ...claims }, names).name).to.equal(name)
    expect(profileOf({ sub: '1', email: 'a\u200db@c.d' }, names).email).to.equal('a b@c.d')
  })

  // Shows: plugin 5.4.
  it('says whether the configured claim told the name, or a fallback stands in', () => {
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
  it('counts an address as verified only if the IdP says true, as a boolean or a text', () => {
    const verified = (email_verified: unknown) =>
      profileOf({ sub: '1', email: 'a@b.c', email_verified }, names).emailVerified
    for (const said of [true, 'true']) expect(verified(said)).to.equal(true)
    for (const other of [false, 'false', 'TRUE', 'yes', '', 1, [true]]) expect(verified(other)).to.equal(false)
    expect(profileOf({ sub: '1', email_verified: true }, names).emailVerified).to.equal(false)
  })

  it('knows nothing of an address about which the IdP says nothing, and takes another claim for unverified', () => {
    const claims = { sub: '1', email: 'a@b.c', upn: 'u@b.c' }
    for (const said of [{}, { email_verified: null }]) {
      expect(profileOf({ ...claims, ...said }, names).emailVerified).to.equal(null)
      expect(profileOf({ ...claims, ...said }, { ...names, email: 'upn' }).emailVerified).to.equal(false)
    }
    expect(profileOf({ sub: '1' }, names).emailVerified).to.equal(null)
  })

  it('cuts a long name between characters, however many code points they have', () => {
    const woman = '👩\u200d🚀'
    const named = (claims: object) => profileOf({ sub: '1', ...claims }, names).name
    expect(named({ name: woman.repeat(100) })).to.equal(woman.repeat(51))
    expect(named({ name: `e${'\u0301'.repeat(2000)}`, preferred_username: 'ann' })).to.equal('ann')
    expect(profileOf({ sub: '1', name: 'x'.repeat(5000) }, names).name).to.have.length(255)
  })

  it('finds id, name and address in objects, by paths', () => {
    const claims = { sub: '1', who: { id: 'x9', 'full.name': 'Ann', mail: { work: 'a@b.c' } } }
    const profile = profileOf(claims, { uuid: 'who.id', name: 'who.full.name', email: 'who.mail.work' })
    const expected = { id: '~oidc:x9', name: 'Ann', isNameClaimed: true, email: 'a@b.c', emailVerified: false }
    expect(profile).to.deep.equal(expected)
  })

  it('refuses an address that is not verified where addresses are the ids', () => {
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
      for (const other of [true, 'true', undefined]) expect(login(other).id).to.equal('~oidc:a@b.c')
    }
    expect(profileOf({ ...claims, email_verified: false }, names).id).to.equal('~oidc:1')
  })
})
