import { expect } from 'chai'
import { avatarHash } from '../../../sidecar/api/requests/avatar.ts'
import { pngFile } from '../../support/png-file.ts'
import { registration } from '../../support/running-api.ts'
import { phoneApp } from './phone.ts'

const HOUR = 3_600_000
const image = pngFile().toString('base64')

describe('The avatars of the phone client', () => {
  const setup = phoneApp()
  const { launch, launched, receive, texts, asked: request, push, codeOf } = setup

  // Shows: sidecar 17.6.
  it('the client registers again with its avatar if the server lost the station', async () => {
    const client = await launched({ avatar: { icon: 'dog', image } })
    await setup.api.store.stations.remove('N0CALL-7')
    await client.sync()
    expect(setup.api.store.stations.get('N0CALL-7')?.avatar).to.include({ hash: avatarHash('dog', image) })
  })

  describe("The client's own avatar", () => {
    const uploads = () => setup.app.requests.filter(({ body }) => body.avatarUpdate === true).length
    const held = () => setup.api.store.stations.get('N0CALL-7')?.avatar

    // Shows: sidecar 17.6.
    it('the client always sends its avatar hash, and the avatar only if the hash differs', async () => {
      const avatar = { icon: 'dog', image }
      const client = await launched({ avatar })
      expect(held()).to.include({ hash: avatarHash('dog', image) })
      await launched({ avatar })
      await setup.app.clock.advance(6 * HOUR)
      await client.sync()
      expect(uploads()).to.equal(1)
      const registers = setup.app.requests.filter(({ path }) => path === '/v1/register')
      expect(registers.every(({ body }) => body.avatarHash === avatarHash('dog', image))).to.equal(true)
    })

    it('the client uploads a changed avatar, and clears a removed one', async () => {
      const client = await launched({ avatar: { icon: 'dog', image: '' } })
      await client.setAvatar({ icon: 'cat', image: '' })
      expect(held()).to.include({ hash: 'icon:cat' })
      await client.setAvatar(null)
      expect(held()?.state).to.equal('cleared')
      expect(request()).to.deep.equal(['register', 'register', 'register', 'register'])
    })

    it("the client gets the server's avatar hash before it uploads its own avatar", async () => {
      await setup.api.post('/v1/register', registration('N0CALL', { avatarUpdate: true, avatarIcon: 'dog' }))
      const client = await launch()
      await client.setAvatar({ icon: 'dog', image: '' })
      expect(uploads()).to.equal(0)
    })

    it('a client that never had an avatar uploads none, even if the server has one', async () => {
      await setup.api.post('/v1/register', registration('N0CALL', { avatarUpdate: true, avatarIcon: 'dog' }))
      const client = await launched()
      await client.setPushToken('another')
      expect(uploads()).to.equal(0)
      expect(held()).to.include({ hash: 'icon:dog' })
    })

    it('the client can upload an avatar after the server refused an invalid push token', async () => {
      const client = await launched({ platform: 'ios', pushToken: 'ab'.repeat(32) })
      expect(await codeOf(client.setPushToken('no hex'))).to.equal('invalid_request')
      expect(await codeOf(client.setAvatar({ icon: 'cat', image: '' }))).to.equal('invalid_request')
      await client.setPushToken('cd'.repeat(32))
      expect(held()).to.include({ hash: 'icon:cat' })
    })

    it('the client reports a refused avatar, stays registered and does not resend it', async () => {
      const client = await launched()
      expect(await codeOf(client.setAvatar({ icon: '', image: 'no image' }))).to.equal('invalid_request')
      await client.setPushToken('another')
      expect(setup.api.store.stations.get('N0CALL-7')?.devices[0]?.pushToken).to.equal('another')
      expect(uploads()).to.equal(1)
    })
  })

  describe('The avatars of other stations in the client', () => {
    beforeEach(() => setup.api.post('/v1/register', registration('N1CALL', { avatarUpdate: true, avatarIcon: 'dog' })))

    // Shows: sidecar 17.7.
    it("the client fetches only avatars with a hash other than the cached copy's", async () => {
      const client = await launched()
      await receive('one')
      await client.sync()
      await receive('two')
      await client.sync()
      expect(setup.app.avatars.get('N1CALL-7')).to.deep.equal({ icon: 'dog', image: '', hash: 'icon:dog' })
      expect(request()).to.deep.equal(['register', 'sync', 'avatars', 'sync'])
      await setup.api.post('/v1/register', registration('N1CALL', { avatarUpdate: true, avatarIcon: 'cat' }))
      await receive('three')
      await client.sync()
      expect(setup.app.avatars.get('N1CALL-7')?.hash).to.equal('icon:cat')
    })

    // Shows: sidecar 17.7.
    it('the client caches avatars from pushes, and drops avatars that senders cleared', async () => {
      const client = await launched()
      await receive('one')
      await client.pushReceived(push({ fromAvatarIcon: 'dog', fromAvatarHash: 'icon:dog' }))
      expect(setup.app.avatars.get('N1CALL-7')).to.deep.equal({ icon: 'dog', image: '', hash: 'icon:dog' })
      await client.pushReceived(push({ fromAvatarCleared: '1' }))
      expect(setup.app.avatars.get('N1CALL-7')).to.equal(undefined)
      expect(request()).to.not.include('avatars')
    })

    it('the client does not cache an avatar from a push that lacks the image', async () => {
      const client = await launched()
      await client.pushReceived(push({ fromAvatarHash: 'f'.repeat(64), fromAvatarIcon: 'dog' }))
      expect(setup.app.avatars.get('N1CALL-7')).to.equal(undefined)
    })

    it('the client shows messages without their avatars if fetching the avatars fails', async () => {
      const client = await launched()
      await receive('one')
      setup.app.fates = ['arrives', 'request_lost']
      await client.sync()
      expect(texts()).to.deep.equal(['one'])
      await client.sync()
      expect(setup.app.avatars.get('N1CALL-7')?.hash).to.equal('icon:dog')
    })
  })
})
