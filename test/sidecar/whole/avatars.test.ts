import { expect } from 'chai'
import { avatarHash } from '../../../sidecar/api/requests/avatar.ts'
import { pngOfLength } from '../../support/png-of-length.ts'
import { claim } from '../../support/running-api.ts'
import { startWholeSidecar, type WholeSidecar } from '../../support/whole-sidecar.ts'

const image = pngOfLength(4000)
const hash = avatarHash('dog', image)
const upload = { avatarUpdate: true, avatarIcon: 'dog', avatarImage: image, avatarHash: hash }

describe('The avatar of a station', () => {
  let its: WholeSidecar
  before(async () => {
    its = await startWholeSidecar()
  })
  beforeEach(async () => {
    await its.register('N0CALL')
  })
  afterEach(async () => {
    await its.unregister('N0CALL')
    await its.unregister('N1CALL')
  })
  after(() => its.close())

  const held = async (...stations: readonly string[]) =>
    (await its.post('/v1/avatars', { ...claim('N0CALL'), stations })).body.avatars

  it('is uploaded once: the hash in the answer is what the client compares its own with', async () => {
    // A client whose avatar the server does not hold, as after a reset of the server, sees that in the answer.
    expect((await its.register('N1CALL', { avatarHash: hash })).body.avatarHash).to.equal('')
    expect((await its.register('N1CALL', upload)).body.avatarHash).to.equal(hash)
    expect((await its.register('N1CALL', { avatarHash: hash })).body.avatarHash).to.equal(hash)
    expect(await held('N1CALL-7')).to.deep.equal({ 'N1CALL-7': { icon: 'dog', image, hash } })
  })

  for (const [what, members] of [
    ['says nothing of it', {}],
    ['sends its hash only', { avatarHash: hash }],
    ['sends another hash only', { avatarHash: 'icon:cat' }],
    ['sends the hash of no avatar only', { avatarHash: '' }],
    ['sends avatarUpdate false', { avatarUpdate: false, avatarIcon: '', avatarImage: '', avatarHash: '' }],
    ['sends an icon without avatarUpdate', { avatarIcon: 'cat' }],
  ] as const) {
    it(`stays as it is when a heartbeat ${what}`, async () => {
      await its.register('N1CALL', upload)
      const { status, body } = await its.register('N1CALL', { pushToken: 'another-token', ...members })
      expect([status, body.avatarHash]).to.deep.equal([200, hash])
      expect(await held('N1CALL-7')).to.deep.equal({ 'N1CALL-7': { icon: 'dog', image, hash } })
    })
  }

  it('is refused when the hash is not that of icon, newline and image, and what was held stays', async () => {
    await its.register('N1CALL', upload)
    for (const wrong of [avatarHash('cat', image), avatarHash('', image), 'icon:dog', '', hash.toUpperCase()]) {
      const { status, body } = await its.register('N1CALL', { ...upload, avatarHash: wrong })
      expect([status, body.error, body.details[0]?.path]).to.deep.equal([400, 'invalid_request', 'avatarHash'])
    }
    expect((await its.register('N1CALL')).body.avatarHash).to.equal(hash)
  })

  it('may have 24,000 characters of image, and not four more', async () => {
    const uploading = (characters: number) =>
      its.register('N1CALL', { avatarUpdate: true, avatarImage: pngOfLength(characters) })
    await its.register('N1CALL')
    const { status, body } = await uploading(24_004)
    expect([status, body.details[0]?.path]).to.deep.equal([400, 'avatarImage'])
    expect((await uploading(24_000)).status).to.equal(200)
  })

  it('is advertised in a sync by its hash, for senders of messages that have one, until it is cleared', async () => {
    await its.register('N1CALL', upload)
    await its.register('N2CALL', { avatarUpdate: true, avatarIcon: 'cat' })
    await its.receive('N1CALL-7', 'N0CALL-7', 'hello')
    await its.receive('N3CALL', 'N0CALL-7', 'hello')
    const sync = async () => (await its.post('/v1/sync', { ...claim('N0CALL'), since: 0 })).body
    expect((await sync()).avatars).to.deep.equal({ 'N1CALL-7': hash })
    const launch = await its.register('N0CALL', { wantHistory: true })
    expect(launch.body.avatars).to.deep.equal({ 'N1CALL-7': hash })
    await its.register('N1CALL', { avatarUpdate: true, avatarIcon: '', avatarImage: '', avatarHash: '' })
    expect(Object.keys(await sync())).to.have.members(['serverTime', 'messages', 'avatars'])
    expect((await sync()).avatars).to.deep.equal({})
    expect(await held('N1CALL-7')).to.deep.equal({})
    await its.unregister('N2CALL')
  })

  it('comes in batches of up to 50 stations', async () => {
    const calls = Array.from({ length: 51 }, (_, n) => `N${n}B`)
    for (const callsign of calls)
      await its.post('/v1/register', {
        ...claim(callsign),
        platform: 'android',
        pushToken: 'a-token',
        ackMessages: false,
        avatarUpdate: true,
        avatarIcon: callsign,
      })
    const names = calls.map((callsign) => `${callsign}-7`)
    expect(await held(...names.slice(0, 50))).to.deep.equal(
      Object.fromEntries(
        calls.slice(0, 50).map((name) => [`${name}-7`, { icon: name, image: '', hash: `icon:${name}` }]),
      ),
    )
    const { status, body } = await its.post('/v1/avatars', { ...claim('N0CALL'), stations: names })
    expect([status, body.details[0]?.path]).to.deep.equal([400, 'stations'])
  })
})
