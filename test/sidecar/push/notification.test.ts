import { expect } from 'chai'
import fc from 'fast-check'
import type { AvatarRecord, StoredMessage } from '../../../sidecar/messages/store.ts'
import type { Notification } from '../../../sidecar/push/gateway/gateway.ts'
import {
  buildNotification,
  fitNotification,
  NOTIFICATION_TTL_MS,
  type SenderAvatar,
} from '../../../sidecar/push/gateway/notification.ts'

const STATION = 'N0CALL-7'
const HASH = 'a'.repeat(64)

function message(text: string | Buffer, seqId = '42'): StoredMessage {
  return { from: 'W1AW', to: STATION, seqId, text: Buffer.from(text), stamp: 1 }
}

function build(text: string | Buffer, { count = 1, avatar = 'none' as SenderAvatar, seqId = '42' } = {}) {
  return buildNotification(STATION, { count, newest: message(text, seqId) }, avatar)
}

const bytes = (notification: Notification) => Buffer.byteLength(JSON.stringify(notification))

describe('A push notification', () => {
  // Shows: sidecar 7.1, 7.2, 7.3, 7.5, C5.8.
  it('push data has sender, sequence id, addressee, count and collapse id as strings', () => {
    expect(build('Hello').data).to.deep.equal({
      fromCall: 'W1AW',
      seqId: '42',
      to: STATION,
      count: '1',
      collapseId: 'aprs-N0CALL-7',
    })
  })

  // Shows: sidecar 7.2.
  it('push data has an empty sequence id if the message has no number', () => {
    expect(build('Hello', { seqId: '' }).data.seqId).to.equal('')
  })

  // Shows: sidecar C9.2.
  it('a push for one message shows its sender and text', () => {
    expect(build('Hello')).to.include({ title: 'W1AW', body: 'Hello' })
  })

  // Shows: sidecar 2.15, 7.4, 16.5, 16.6, 17.3, 19.2, 21.10, C1.15, C9.2.
  it('a push for several messages shows their count, station and latest sender', () => {
    const notification = build('Hello', { count: 3 })
    expect(notification).to.include({ title: 'For N0CALL-7, latest from W1AW', body: '3 new APRS messages' })
    expect(notification.data.count).to.equal('3')
  })

  // Shows: sidecar C9.2.
  for (const [name, text, body] of [
    ['shows "Message without text" for a message without text', ' ', 'Message without text'],
    ['decodes text as UTF-8', 'Grüße 📻', 'Grüße 📻'],
    ['decodes text that is not UTF-8 as Latin-1', Buffer.from('Grüße', 'latin1'), 'Grüße'],
    ['strips control characters and bidi overrides from the text', '\x07one\r\ntwo\u202ethree\x9b', 'one two three'],
    ['keeps the joiners of an emoji, and right-to-left text', '👩‍👩‍👧 שלום', '👩‍👩‍👧 שלום'],
  ] as const)
    it(name, () => expect(build(text).body).to.equal(body))

  // Shows: sidecar 7.5.
  it('all pushes of a station share one collapse id of at most 64 bytes', () => {
    const second = buildNotification('DL1ABC-15', { count: 9, newest: message('Hi') }, 'none')
    expect(build('one').collapseId).to.equal(build('two', { count: 2 }).collapseId)
    expect(second.collapseId).to.equal('aprs-DL1ABC-15')
    expect(Buffer.byteLength(second.collapseId)).to.be.at.most(64)
  })

  describe('A notification with the avatar of its sender', () => {
    const record = (avatar: Partial<AvatarRecord>): AvatarRecord => ({ icon: '', image: '', hash: HASH, ...avatar })
    const image = (length: number) => 'A'.repeat(length)
    const cases: readonly (readonly [string, SenderAvatar, Readonly<Record<string, string>>])[] = [
      ['has no avatar data if the sender never set an avatar', 'none', {}],
      ['has only a tombstone for a cleared avatar', 'cleared', { Cleared: '1' }],
      [
        'has only icon and hash of an avatar without an image',
        record({ icon: 'car', hash: 'icon:car' }),
        { Icon: 'car', Hash: 'icon:car' },
      ],
      [
        'includes an avatar image of up to 3000 characters',
        record({ icon: 'car', image: image(3000) }),
        { Icon: 'car', Hash: HASH, Image: image(3000) },
      ],
      [
        'has icon and hash without the image if the image is over 3000 characters',
        record({ icon: 'car', image: image(3001) }),
        { Icon: 'car', Hash: HASH },
      ],
      [
        'has hash and image without icon if the avatar is only an image',
        record({ image: 'AAAA' }),
        { Hash: HASH, Image: 'AAAA' },
      ],
    ]
    // Shows: sidecar 2.9, 2.10, 5.1, 5.8, 7.6, 7.7, 7.8, 16.7, 16.8, 17.7, 19.2, 21.3.
    for (const [name, avatar, expected] of cases)
      it(name, () => {
        const keys = Object.entries(build('x', { avatar }).data).filter(([key]) => key.startsWith('fromAvatar'))
        expect(Object.fromEntries(keys.map(([key, value]) => [key.slice(10), value]))).to.deep.equal(expected)
      })
  })

  it('push gateways keep a notification for an absent phone for a day', () => {
    expect(NOTIFICATION_TTL_MS).to.equal(86_400_000)
  })

  // Shows: sidecar 7.10, 7.11, 7.12, 7.13, 7.14.
  it('push data has no reserved keys, and only strings as values', () => {
    const avatars: SenderAvatar[] = ['none', 'cleared', { icon: 'car', image: 'AAAA', hash: HASH }]
    for (const avatar of avatars) {
      for (const [key, value] of Object.entries(build('x', { avatar, count: 2 }).data)) {
        expect(key).not.to.match(/^(from|notification|message_type|collapse_key|aps)$|^google|^gcm/)
        expect(value).to.be.a('string')
      }
    }
  })
})

describe('A notification near or above the size limit', () => {
  const image = 'A'.repeat(3000)

  it('does not change a notification of exactly the maximum size', () => {
    const notification = build('Hello', { avatar: { icon: 'car', image, hash: HASH } })
    expect(fitNotification(notification, bytes, bytes(notification))).to.equal(notification)
  })

  // Shows: sidecar 7.6, 7.7, 21.2, C9.3.
  it('a push over the size limit loses its image first, and text only if needed', () => {
    const notification = build('Hello', { avatar: { icon: 'car', image, hash: HASH } })
    const fitted = fitNotification(notification, bytes, bytes(notification) - 1)
    expect(fitted.body).to.equal('Hello')
    expect(fitted.data).not.to.have.property('fromAvatarImage')
    expect(fitted.data).to.include({ fromAvatarIcon: 'car', fromAvatarHash: HASH })
    expect(fitNotification(notification, bytes, bytes(fitted)).body).to.equal('Hello')
  })

  // Shows: sidecar C9.4.
  it('shortens a push text only as far as needed, and ends it with an ellipsis', () => {
    const fitted = fitNotification(build('x'.repeat(9000)), bytes)
    expect(fitted.body).to.match(/^x+…$/)
    expect(bytes(fitted)).to.equal(4096)
  })

  it('a shortened push text keeps leading spaces, and drops those before the ellipsis', () => {
    const notification = { ...build(''), body: ` A${' '.repeat(9000)}B` }
    expect(fitNotification(notification, bytes).body).to.equal(' A…')
  })

  // Shows: sidecar C9.4.
  it('a shortened push text ends between visible characters, never inside an emoji', () => {
    const family = '👩‍👩‍👧'
    const fitted = fitNotification(build(family.repeat(500)), bytes)
    expect(fitted.body.replaceAll(family, '')).to.equal('…')
    expect(fitted.body.length).to.be.above(family.length)
  })

  // Shows: sidecar 21.2.
  it('any push text can be cut to 4,096 bytes, with an ellipsis and no split surrogate', () => {
    const unit = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 60 }),
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.constantFrom('👩‍👩‍👧', 'é', 'ü', '"', '\\', '日本', 'a'),
    )
    const text = fc.tuple(unit, fc.nat(2500)).map(([part, times]) => part.repeat(times).slice(0, 60_000))
    fc.assert(
      fc.property(text, fc.boolean(), (raw, withImage) => {
        const avatar: SenderAvatar = withImage ? { icon: 'car', image, hash: HASH } : 'none'
        const notification = build(raw, { avatar })
        const fitted = fitNotification(notification, bytes)
        expect(bytes(fitted)).to.be.at.most(4096)
        expect(fitted.body).not.to.match(/\p{Cs}/u)
        if (fitted.body === notification.body) return
        expect(fitted.body.endsWith('…')).to.equal(true)
        expect(notification.body.startsWith(fitted.body.slice(0, -1))).to.equal(true)
        expect(fitted.data).not.to.have.property('fromAvatarImage')
      }),
      { numRuns: 60 },
    )
  })
})
