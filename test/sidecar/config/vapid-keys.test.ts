import { expect } from 'chai'
import webPush from 'web-push'
import { makeVapidKeys, parseVapidKeys, vapidKeyFile } from '../../../sidecar/config/vapid-keys.ts'

describe('VAPID keys', () => {
  it('are a new pair each time, which is read again from its JSON', () => {
    const [first, second] = [makeVapidKeys(), makeVapidKeys()]
    expect(first.publicKey).to.not.equal(second.publicKey)
    expect(parseVapidKeys(JSON.stringify(first, null, 2))).to.deep.equal(first)
  })

  it('may be a pair that the command of web-push made', () => {
    const keys = webPush.generateVAPIDKeys()
    expect(parseVapidKeys(JSON.stringify(keys))).to.deep.equal(keys)
  })

  it('are none where the halves do not belong together, or one of them is cut off', () => {
    const { publicKey, privateKey } = makeVapidKeys()
    const damaged = [
      { publicKey: makeVapidKeys().publicKey, privateKey },
      { publicKey: publicKey.slice(0, -1), privateKey },
      { publicKey, privateKey: privateKey.slice(0, -4) },
      { publicKey, privateKey: Buffer.alloc(32).toString('base64url') },
      { publicKey },
      null,
      [],
    ]
    for (const keys of damaged) expect(parseVapidKeys(JSON.stringify(keys)), JSON.stringify(keys)).to.equal(undefined)
    expect(parseVapidKeys('')).to.equal(undefined)
    expect(parseVapidKeys(JSON.stringify({ publicKey, privateKey }).slice(0, -1))).to.equal(undefined)
  })

  it('are kept beside the database, where no other file is named', () => {
    expect(vapidKeyFile(null, '/var/lib/x.sqlite')).to.equal('/var/lib/x.sqlite.vapid.json')
    expect(vapidKeyFile('/etc/keys.json', ':memory:')).to.equal('/etc/keys.json')
    expect(vapidKeyFile(null, ':memory:')).to.equal(null)
  })
})
