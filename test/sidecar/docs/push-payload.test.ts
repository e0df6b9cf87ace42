import { expect } from 'chai'
import { startApns } from '../../../fixtures/push/apns.ts'
import { startFcm } from '../../../fixtures/push/fcm.ts'
import { startWebPush } from '../../../fixtures/push/webpush.ts'
import { openApiDocument } from '../../../sidecar/api/openapi/document.ts'
import { avatarHash } from '../../../sidecar/api/requests/avatar.ts'
import { makeVapidKeys } from '../../../sidecar/config/vapid-keys.ts'
import { createLog } from '../../../sidecar/log.ts'
import { openApns } from '../../../sidecar/push/apns/apns.ts'
import { openFcm } from '../../../sidecar/push/fcm/fcm.ts'
import type { PushGateway } from '../../../sidecar/push/gateway/gateway.ts'
import { buildNotification, type SenderAvatar } from '../../../sidecar/push/gateway/notification.ts'
import { openWebPush } from '../../../sidecar/push/web-push/web-push.ts'
import { expectDocumentedPush } from '../../support/api-document.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { pngOfLength } from '../../support/png-of-length.ts'
import { codesIn, EXAMPLES, namesIn, rowsIn, textOf } from './page.ts'

const PAGE = 'app-developers.md'
const DEVICE = 'ab'.repeat(32)
const TOWER = { icon: 'tower', image: '', hash: 'icon:tower' }

function notification(avatar: SenderAvatar, { count = 1, text = 'Good morning' } = {}) {
  const newest = { from: 'W1AW', to: 'N0CALL-7', seqId: '12', text: Buffer.from(text), stamp: 1 }
  return buildNotification('N0CALL-7', { count, newest }, avatar)
}

const example = (name: string) => EXAMPLES.find((item) => item.name === name)?.value ?? {}

/** Returns the paths of all values. An object at a path in `whole` counts as one value. */
function pathsIn(value: unknown, whole: readonly string[] = [], path = ''): readonly string[] {
  if (typeof value !== 'object' || value === null || whole.includes(path)) return [path]
  return Object.entries(value).flatMap(([name, member]) =>
    pathsIn(member, whole, path === '' ? name : `${path}.${name}`),
  )
}

/** Returns the table's headers with their meanings. */
function headersOf(heading: string): ReadonlyMap<string, string> {
  return new Map(rowsIn(textOf(PAGE, heading), 'header').map(([name, value = '']) => [codesIn(name)[0] ?? '', value]))
}

describe('The documentation of push payloads', () => {
  const keys = rowsIn(textOf(PAGE, '## Contents of a push').split('\n### ')[0] ?? '', 'key')
  const named = (rows: typeof keys) => rows.map(([cell]) => codesIn(cell)[0] ?? '')
  const closers: (() => Promise<unknown>)[] = []
  const closing = <Part extends { close(): Promise<unknown> }>(part: Part): Part => {
    closers.push(() => part.close())
    return part
  }
  const log = createLog('silent')
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close()
  })
  const sent = async (gateway: PushGateway, token: string) =>
    expect(await gateway.send(token, notification(TOWER))).to.deep.equal({ kind: 'accepted' })

  // Shows: sidecar C15.7, C15.9.
  it('the documents list every data key of a push, and which are always present', () => {
    const image = pngOfLength(3000)
    const pictured = { icon: 'tower', image, hash: avatarHash('tower', image) }
    const dataOf = (avatar: SenderAvatar) => Object.keys(notification(avatar).data)
    expect(named(keys)).to.have.members([...new Set([...dataOf(pictured), ...dataOf('cleared')])])
    expect(named(keys.filter(([, when]) => when === 'always'))).to.have.members(dataOf('none'))
    const { properties, required } = openApiDocument().components.schemas.AndroidPush
    expect(Object.keys(properties)).to.have.members(named(keys))
    expect(required).to.have.members(dataOf('none'))
    for (const avatar of [pictured, 'cleared', 'none'] as const)
      expectDocumentedPush('androidPush', notification(avatar).data)
    const tooLarge = pngOfLength(3004)
    expect(dataOf({ ...pictured, image: tooLarge, hash: avatarHash('tower', tooLarge) })).not.to.include(
      'fromAvatarImage',
    )
  })

  it('the documents quote title and body of a push', () => {
    const several = notification('none', { count: 3 })
    const words = codesIn(textOf(PAGE, '## Contents of a push'))
    expect(words).to.include.members([several.title, several.body, notification('none', { text: ' ' }).body])
  })

  // Shows: sidecar C1.3, C15.7.
  it('the documents list exactly the payload keys that FCM receives', async () => {
    const fcm = closing(await startFcm())
    const { token } = example('FcmMessage')
    await sent(closing(openFcm({ ...fcm.settings }, log)), String(token))
    expect(fcm.received[0]).to.deep.equal(example('FcmMessage'))
    expectDocumentedPush('androidPush', fcm.received[0]?.data)
    expect(namesIn(textOf(PAGE, '### Android: FCM'), 'key')).to.have.members(pathsIn(fcm.received[0], ['data']))
  })

  // Shows: sidecar C1.4, C5.7, C15.7, O1.7.
  it('the documents list exactly the payload keys that APNs receives', async () => {
    const apns = closing(await startApns())
    const clock = new FakeClock(Date.now())
    await sent(closing(openApns(apns.settings, log, clock)), DEVICE)
    const [received] = apns.received
    expect(received?.payload).to.deep.equal(example('ApnsPayload'))
    expectDocumentedPush('iosPush', received?.payload)
    const { aps } = received?.payload ?? {}
    expect(namesIn(textOf(PAGE, '### iOS: APNs'), 'key')).to.have.members([...pathsIn({ aps }), 'aps'])
    const headers = headersOf('### iOS: APNs')
    expect([...headers.keys()]).to.have.members(
      ['topic', 'push-type', 'priority', 'expiration', 'collapse-id'].map((name) => `apns-${name}`),
    )
    expect(headers.get('apns-push-type')).to.equal(`\`${received?.pushType}\``)
    expect(headers.get('apns-priority')).to.equal(`\`${received?.priority}\``)
    expect(received?.collapseId).to.equal(received?.payload.collapseId)
    expect(received?.expiration).to.equal(Math.floor(clock.now() / 1000) + 24 * 3600)
  })

  // Shows: sidecar C15.7.
  it('the documents list exactly what a Web Push service receives and a phone decrypts', async () => {
    const service = closing(await startWebPush())
    const vapid = makeVapidKeys()
    const gateway = closing(openWebPush({ ...service.settings, keyFile: null }, vapid, log))
    await sent(gateway, JSON.stringify(service.subscribe(vapid.publicKey)))
    const [received] = service.received
    expect(received?.payload).to.deep.equal(example('WebPushMessage'))
    expectDocumentedPush('webPush', received?.payload)
    const beside = pathsIn(received?.payload).filter((name) => !named(keys).includes(name))
    expect(namesIn(textOf(PAGE, '### Phones without Google: Web Push'), 'key')).to.have.members(beside)
    const headers = headersOf('### Phones without Google: Web Push')
    expect([...headers.keys()]).to.have.members(['TTL', 'Urgency', 'Topic', 'Content-Encoding'])
    expect(headers.get('TTL')).to.include(`\`${received?.ttl}\``)
    expect(headers.get('Urgency')).to.equal(`\`${received?.urgency}\``)
    expect(headers.get('Topic')).to.include(`${received?.topic?.length} characters`)
  })
})
