import { expect } from 'chai'
import { startApns } from '../../../fixtures/push/apns.ts'
import { startFcm } from '../../../fixtures/push/fcm.ts'
import { makeVapidKeys } from '../../../sidecar/config/vapid-keys.ts'
import { openGateways } from '../../../sidecar/push/open-gateways.ts'
import { settingsOf } from '../../support/read-settings.ts'
import { recordedLog } from '../../support/recorded-log.ts'

const OFF = settingsOf({}).push

describe('Push gateways created from the configuration', () => {
  const { log, shown } = recordedLog('info')

  // Shows: sidecar C14.11.
  it('disables each unconfigured push gateway with one warning', () => {
    expect(openGateways(OFF, log)).to.deep.equal({})
    expect(shown('level', 'event', 'platform')).to.deep.equal([
      ['warn', 'push-gateway-off', 'android'],
      ['warn', 'push-gateway-off', 'ios'],
      ['warn', 'push-gateway-off', 'webpush'],
    ])
  })

  it('logs no warning when it opens configured push gateways', async () => {
    const [fcm, apns] = await Promise.all([startFcm(), startApns()])
    const webpush = { ...OFF.webpush, subject: 'mailto:operator@example.org' }
    const settings = { ...OFF, fcm: fcm.settings, apns: apns.settings, webpush }
    const gateways = openGateways(settings, log, undefined, makeVapidKeys())
    expect(gateways).to.have.keys('android', 'ios', 'webpush')
    expect(shown('event')).to.deep.equal(Array(3).fill('push-gateway-on'))
    await Promise.all([...Object.values(gateways).map((gateway) => gateway.close()), fcm.close(), apns.close()])
  })

  // Shows: sidecar C1.28.
  it('names the file if a push gateway cannot be opened, and closes the others', async () => {
    const fcm = await startFcm()
    const apns = { ...OFF.apns, keyFile: '/nowhere/key.p8', keyId: 'K', teamId: 'T', topic: 't' }
    expect(() => openGateways({ ...OFF, fcm: fcm.settings, apns }, log)).to.throw('/nowhere/key.p8')
    await fcm.close()
  })
})
