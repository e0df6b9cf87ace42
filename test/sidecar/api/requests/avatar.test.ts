import { createHash } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { avatarHash, decideAvatar } from '../../../../sidecar/api/requests/avatar.ts'
import { pngChunks, pngFile } from '../../../support/png-file.ts'
import { pngOfLength } from '../../../support/png-of-length.ts'

const image = pngFile().toString('base64')
const padded = [0, 1, 2]
  .map((length) => pngFile(pngChunks({ extra: [{ type: 'teXt', data: Buffer.alloc(length) }] })).toString('base64'))
  .find((text) => text.endsWith('=='))!

describe('avatar hash', () => {
  it('of an image is the SHA-256 of icon, line feed and image in hex', () => {
    const expected = createHash('sha256').update(`dog\n${image}`).digest('hex')
    expect(avatarHash('dog', image)).to.equal(expected)
    expect(avatarHash('', image))
      .to.match(/^[0-9a-f]{64}$/)
      .and.not.equal(expected)
  })

  it('of an icon alone is icon:<name>, of nothing the empty string', () => {
    expect(avatarHash('dog', '')).to.equal('icon:dog')
    expect(avatarHash('', '')).to.equal('')
  })
})

describe('the avatar in a register call', () => {
  it('stays as it is when the call does not say avatarUpdate', () => {
    expect(decideAvatar({})).to.deep.equal({ kind: 'keep' })
    expect(decideAvatar({ avatarHash: 'icon:cat' })).to.deep.equal({ kind: 'keep' })
    expect(decideAvatar({ avatarUpdate: false, avatarIcon: 'dog', avatarImage: 'junk' })).to.deep.equal({
      kind: 'keep',
    })
    expect(decideAvatar({ avatarUpdate: null, avatarIcon: 'dog' })).to.deep.equal({ kind: 'keep' })
  })

  it('is replaced by what is sent, with the hash of our own computing', () => {
    expect(decideAvatar({ avatarUpdate: true, avatarIcon: 'dog' })).to.deep.equal({
      kind: 'replace',
      icon: 'dog',
      image: '',
      hash: 'icon:dog',
    })
    const hash = avatarHash('dog', image)
    expect(decideAvatar({ avatarUpdate: true, avatarIcon: 'dog', avatarImage: image, avatarHash: hash })).to.deep.equal(
      { kind: 'replace', icon: 'dog', image, hash },
    )
  })

  it('is cleared by empty icon, image and hash, absent ones included', () => {
    const cleared = { kind: 'replace', icon: '', image: '', hash: '' }
    expect(decideAvatar({ avatarUpdate: true, avatarIcon: '', avatarImage: '', avatarHash: '' })).to.deep.equal(cleared)
    expect(decideAvatar({ avatarUpdate: true })).to.deep.equal(cleared)
    expect(decideAvatar({ avatarUpdate: true, avatarIcon: null, avatarImage: null })).to.deep.equal(cleared)
  })

  it('is refused with a hash of something else', () => {
    fc.assert(
      fc.property(fc.string(), (hash) => {
        const decision = decideAvatar({ avatarUpdate: true, avatarIcon: 'dog', avatarHash: hash })
        expect(decision.kind).to.equal(hash === 'icon:dog' ? 'replace' : 'invalid')
      }),
    )
    expect(decideAvatar({ avatarUpdate: true, avatarHash: 'icon:dog' })).to.deep.include({ member: 'avatarHash' })
    const upper = avatarHash('', image).toUpperCase()
    expect(decideAvatar({ avatarUpdate: true, avatarImage: image, avatarHash: upper }).kind).to.equal('invalid')
  })

  it('is refused with an image over 24000 characters', () => {
    const decide = (avatarImage: string) => decideAvatar({ avatarUpdate: true, avatarImage })
    expect(pngOfLength(24_000)).to.have.length(24_000)
    expect(decide(pngOfLength(24_000)).kind).to.equal('replace')
    expect(decide(pngOfLength(24_004))).to.deep.equal({
      kind: 'invalid',
      member: 'avatarImage',
      reason: 'An image has at most 24000 characters.',
    })
  })

  for (const [what, text] of [
    ['is not base64', '!!!!'],
    ['is base64url', 'ab-_'],
    ['has more behind it', `${image}!!!!`],
    ['has more before it', `!!!!${image}`],
    ['has line breaks', `${image.slice(0, 76)}\n${image.slice(76)}`],
    ['lacks its padding', padded.replace(/=+$/, '')],
    ['is a data URL', `data:image/png;base64,${image}`],
    ['is no PNG', Buffer.from('hello there!').toString('base64')],
  ] as const) {
    it(`is refused when the image ${what}`, () => {
      expect(decideAvatar({ avatarUpdate: true, avatarImage: text })).to.deep.include({
        kind: 'invalid',
        member: 'avatarImage',
      })
    })
  }

  it('is taken with its padding', () => {
    expect(decideAvatar({ avatarUpdate: true, avatarImage: padded }).kind).to.equal('replace')
  })

  it('is refused with an icon name that is too long or has control characters', () => {
    const decide = (avatarIcon: string) => decideAvatar({ avatarUpdate: true, avatarIcon })
    expect(decide('x'.repeat(64)).kind).to.equal('replace')
    expect(decide('x'.repeat(65))).to.deep.include({ kind: 'invalid', member: 'avatarIcon' })
    expect(decide('a\nb')).to.deep.include({ kind: 'invalid', member: 'avatarIcon' })
  })
})
