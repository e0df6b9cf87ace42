import { expect } from 'chai'
import fc from 'fast-check'
import { avatarHash } from '../../../sidecar/api/requests/avatar.ts'
import { pngOfLength } from '../../support/png-of-length.ts'
import { claim, type RunningApi, registration, startApi } from '../../support/running-api.ts'
import { append, message } from '../store/sqlite/temporary-stores.ts'

const image = pngOfLength(4000)
const hash = avatarHash('dog', image)
const upload = { avatarUpdate: true, avatarIcon: 'dog', avatarImage: image, avatarHash: hash }
const cleared = { avatarUpdate: true, avatarIcon: '', avatarImage: '', avatarHash: '' }

describe('The avatar of a station', () => {
  let api: RunningApi
  beforeEach(async () => {
    api = await startApi()
    await register('N0CALL')
  })
  afterEach(() => api.close())

  const register = (callsign: string, members: object = {}) => api.post('/v1/register', registration(callsign, members))
  const ask = (...stations: readonly string[]) => api.post('/v1/avatars', { ...claim('N0CALL'), stations })
  const held = async (...stations: readonly string[]) => (await ask(...stations)).body.avatars

  // Shows: sidecar 2.9, 3.6, 5.5, 5.6, 11.9, 11.10, 11.11, 11.15, 11.19, 13.3, 17.6, 17.7, C2.1.
  it('/v1/register returns the stored avatar hash, so a client knows if it must upload', async () => {
    // A client learns from the answer that the server lacks its avatar, for example after a reset.
    expect((await register('N1CALL', { avatarHash: hash })).body.avatarHash).to.equal('')
    expect((await register('N1CALL', upload)).body.avatarHash).to.equal(hash)
    expect((await register('N1CALL', { avatarHash: hash })).body.avatarHash).to.equal(hash)
    expect(await held('N1CALL-7')).to.deep.equal({ 'N1CALL-7': { icon: 'dog', image, hash } })
  })

  // Shows: sidecar 5.7, 11.9, C5.6.
  it('the stored avatar stays if a heartbeat sends only a hash, or an invalid avatar', async () => {
    await register('N1CALL', upload)
    expect((await register('N1CALL', { avatarHash: 'icon:cat' })).body.avatarHash).to.equal(hash)
    const { status, body } = await register('N1CALL', { ...upload, avatarHash: 'icon:dog' })
    expect(status).to.equal(400)
    expect(body.error).to.equal('invalid_request')
    expect(body.details[0]?.path).to.equal('avatarHash')
    expect(await held('N1CALL-7')).to.deep.equal({ 'N1CALL-7': { icon: 'dog', image, hash } })
  })

  // Shows: sidecar 2.11, 2.12, 11.14, 12.4, 12.5, 12.6, 17.7, 19.6, C2.3, C5.5.
  it('a sync lists the avatar hash of each sender until the sender clears its avatar', async () => {
    await register('N1CALL', upload)
    await register('N2CALL', { avatarUpdate: true, avatarIcon: 'cat' })
    await register('N4CALL')
    for (const from of ['N1CALL-7', 'N1CALL-7', 'N3CALL', 'N4CALL-7'])
      await append(api.store, message('hello', { from, to: 'N0CALL-7', seqId: '' }))
    const sync = async () => (await api.post('/v1/sync', { ...claim('N0CALL'), since: 0 })).body
    expect((await sync()).avatars).to.deep.equal({ 'N1CALL-7': hash })
    const launch = await register('N0CALL', { wantHistory: true })
    expect(launch.body.avatars).to.deep.equal({ 'N1CALL-7': hash })
    expect((await register('N1CALL', cleared)).body.avatarHash).to.equal('')
    expect(api.store.stations.get('N1CALL-7')?.avatar.state).to.equal('cleared')
    expect(Object.keys(await sync())).to.have.members(['serverTime', 'messages', 'avatars'])
    expect((await sync()).avatars).to.deep.equal({})
    expect(await held('N1CALL-7')).to.deep.equal({})
  })

  // Shows: sidecar 13.3, C2.4.
  it('an avatars call returns icon, image and hash of each station that has an avatar', async () => {
    await register('N1CALL', upload)
    await register('N2CALL', { avatarUpdate: true, avatarIcon: 'cat' })
    const { status, body } = await ask('N1CALL-7', 'n2call-7', 'N0CALL-7', 'N9CALL', 'no station!', '')
    expect(status).to.equal(200)
    expect(typeof body.serverTime).to.equal('number')
    expect(body.avatars).to.deep.equal({
      'N1CALL-7': { icon: 'dog', image, hash },
      'N2CALL-7': { icon: 'cat', image: '', hash: 'icon:cat' },
    })
  })

  // Shows: sidecar 5.1.
  it('all answers are well-formed JSON for any icon name from a client', async () => {
    await append(api.store, message('hello', { from: 'N1CALL-7', to: 'N0CALL-7', seqId: '' }))
    const codeUnit = fc.oneof(fc.constantFrom(0xd800, 0xdbff, 0xdc00, 0xdfff, 0xd83d, 0xdeb2), fc.nat(0xffff))
    await fc.assert(
      fc.asyncProperty(fc.array(codeUnit, { maxLength: 4 }), async (codeUnits) => {
        const avatarIcon = String.fromCharCode(...codeUnits)
        const uploaded = await register('N1CALL', { avatarUpdate: true, avatarIcon })
        const synced = await api.post('/v1/sync', { ...claim('N0CALL'), since: 0 })
        const answers = await ask('N1CALL-7')
        expect(uploaded.status).to.equal(/[\p{Cc}\p{Cs}]/u.test(avatarIcon) ? 400 : 200)
        // JSON.stringify writes half of a surrogate pair as an escape.
        for (const { bytes } of [uploaded, synced, answers]) expect(bytes.toString()).not.to.match(/\\ud[89a-f]/i)
      }),
      { numRuns: 60 },
    )
  })

  // Shows: sidecar 2.12, 13.2, 21.6.
  it('an avatars call accepts up to 50 stations', async () => {
    expect((await ask(...Array(50).fill('N1CALL-7'))).status).to.equal(200)
    const { status, body } = await ask(...Array(51).fill('N1CALL-7'))
    expect(status).to.equal(400)
    expect(body.details).to.deep.equal([{ path: 'stations', reason: 'It has more than 50 entries.' }])
  })
})
