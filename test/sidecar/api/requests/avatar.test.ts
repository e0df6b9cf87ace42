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

describe('The avatar hash', () => {
  // Shows: sidecar 5.7.
  it('the hash of an avatar image is the SHA-256 of icon, line feed and image in hex', () => {
    const expected = createHash('sha256').update(`dog\n${image}`).digest('hex')
    expect(avatarHash('dog', image)).to.equal(expected)
    expect(avatarHash('', image))
      .to.match(/^[0-9a-f]{64}$/)
      .and.not.equal(expected)
  })

  // Shows: sidecar 5.8, 5.9.
  it('the avatar hash is icon:<name> without an image, and empty without an avatar', () => {
    expect(avatarHash('dog', '')).to.equal('icon:dog')
    expect(avatarHash('', '')).to.equal('')
  })
})

describe('The avatar in a register call', () => {
  const hash = avatarHash('dog', image)
  const decide = (members: object) => decideAvatar({ avatarUpdate: true, ...members })

  // Shows: sidecar 5.6, 5.10, 11.11, 11.19, 14.1, 22.2.
  it('the stored avatar stays if a register call does not set avatarUpdate', () => {
    for (const avatarUpdate of [undefined, false, null])
      for (const rest of [{}, { avatarHash: 'icon:cat' }, { avatarIcon: 'dog', avatarImage: 'junk' }])
        expect(decide({ avatarUpdate, ...rest })).to.deep.equal({ kind: 'keep' })
  })

  it('an uploaded avatar replaces the stored one, with a hash computed by the server', () => {
    for (const [sent, stored] of [
      [{ avatarIcon: 'dog' }, { icon: 'dog', image: '', hash: 'icon:dog' }],
      [
        { avatarIcon: 'dog', avatarImage: image, avatarHash: hash },
        { icon: 'dog', image, hash },
      ],
    ] as const)
      expect(decide(sent)).to.deep.equal({ kind: 'replace', ...stored })
  })

  // Shows: sidecar C5.5.
  it('an upload with empty or missing icon, image and hash clears the avatar', () => {
    const empty = { avatarIcon: '', avatarImage: '', avatarHash: '' }
    for (const sent of [empty, {}, { avatarIcon: null, avatarImage: null }])
      expect(decide(sent)).to.deep.equal({ kind: 'replace', icon: '', image: '', hash: '' })
  })

  // Shows: sidecar 5.7, C5.6.
  it('refuses an avatar with the hash of another avatar', () => {
    fc.assert(
      fc.property(fc.string(), (avatarHash) => {
        const { kind } = decide({ avatarIcon: 'dog', avatarHash })
        expect(kind).to.equal(avatarHash === 'icon:dog' ? 'replace' : 'invalid')
      }),
    )
    expect(decide({ avatarHash: 'icon:dog' })).to.deep.include({ member: 'avatarHash' })
    expect(decide({ avatarImage: image, avatarHash: avatarHash('', image).toUpperCase() }).kind).to.equal('invalid')
  })

  // Shows: sidecar 5.4, 21.4.
  it('refuses an avatar image of more than 24000 characters', () => {
    expect(pngOfLength(24_000)).to.have.length(24_000)
    expect(decide({ avatarImage: pngOfLength(24_000) }).kind).to.equal('replace')
    const reason = 'An image must have at most 24000 characters.'
    const refused = { kind: 'invalid', member: 'avatarImage', reason }
    expect(decide({ avatarImage: pngOfLength(24_004) })).to.deep.equal(refused)
  })

  // Shows: sidecar 5.2.
  for (const [caseName, text] of [
    ['is not base64', '!!!!'],
    ['is base64url', 'ab-_'],
    ['has characters after the base64', `${image}!!!!`],
    ['has characters before the base64', `!!!!${image}`],
    ['has line breaks', `${image.slice(0, 76)}\n${image.slice(76)}`],
    ['lacks its padding', padded.replace(/=+$/, '')],
    ['is a data URL', `data:image/png;base64,${image}`],
    ['is not a PNG', Buffer.from('hello there!').toString('base64')],
  ] as const)
    it(`refuses an avatar whose image ${caseName}`, () =>
      expect(decide({ avatarImage: text })).to.deep.include({ kind: 'invalid', member: 'avatarImage' }))

  it('accepts an avatar image with base64 padding', () =>
    expect(decide({ avatarImage: padded }).kind).to.equal('replace'))

  // Shows: sidecar 5.1.
  it('refuses an avatar with an icon name that is too long or has control characters', () => {
    for (const avatarIcon of ['x'.repeat(64), '\u{1f6b2}']) expect(decide({ avatarIcon }).kind).to.equal('replace')
    for (const avatarIcon of ['x'.repeat(65), 'a\nb', '\ud800', 'a\udfff', '\udeb2\ud83d'])
      expect(decide({ avatarIcon })).to.deep.include({ kind: 'invalid', member: 'avatarIcon' })
  })
})
