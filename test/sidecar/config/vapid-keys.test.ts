import { expect } from 'chai'
import webPush from 'web-push'
import { makeVapidKeys, parseVapidKeys, vapidKeyFile } from '../../../sidecar/config/vapid-keys.ts'

describe('The VAPID keys', () => {
  it('new VAPID keys differ each time, and can be parsed from their JSON', () => {
    const [first, second] = [makeVapidKeys(), makeVapidKeys()]
    expect(first.publicKey).to.not.equal(second.publicKey)
    expect(parseVapidKeys(JSON.stringify(first, null, 2))).to.deep.equal(first)
  })

  it('accepts VAPID keys that the web-push command created', () => {
    const keys = webPush.generateVAPIDKeys()
    expect(parseVapidKeys(JSON.stringify(keys))).to.deep.equal(keys)
  })

  it('refuses VAPID keys that are truncated or do not belong together', () => {
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

  it('stores VAPID keys beside the database unless a key file is configured', () => {
    expect(vapidKeyFile(null, '/var/lib/x.sqlite')).to.equal('/var/lib/x.sqlite.vapid.json')
    expect(vapidKeyFile('/etc/keys.json', ':memory:')).to.equal('/etc/keys.json')
    expect(vapidKeyFile(null, ':memory:')).to.equal(null)
  })
})
