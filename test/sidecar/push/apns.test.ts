import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { type ApnsFault, startApns } from '../../../fixtures/push/apns.ts'
import { openApns } from '../../../sidecar/push/apns/apns.ts'
import { ACCEPTED, gatewayContract, gatewaySetup } from './gateway.contract.ts'
import { apnsSubject, BIG, DEVICE_TOKEN, NOTIFICATION } from './services.ts'

describe('APNs through node-apn', () => {
  const position = gatewaySetup(apnsSubject)
  const { send } = position

  const answers = (
    [
      ['Unregistered', 410, 'token_gone', /app was removed/],
      ['ExpiredToken', 410, 'token_gone', /expired/],
      ['BadDeviceToken', 400, 'token_gone', /push\.apns\.production/],
      ['DeviceTokenNotForTopic', 400, 'token_gone', /push\.apns\.topic/],
      ['TooManyRequests', 429, 'try_later', /this phone/],
      ['TooManyProviderTokenUpdates', 429, 'try_later', /signing key/],
      ['InternalServerError', 500, 'try_later', /internal error/],
      ['ServiceUnavailable', 503, 'try_later', /not available/],
      ['Shutdown', 503, 'try_later', /shutting down/],
      ['SomethingNew', 502, 'try_later', /^SomethingNew \(status 502\)$/],
      ['InvalidProviderToken', 403, 'unauthorized', /push\.apns\.keyFile, keyId and teamId/],
      ['TopicDisallowed', 403, 'unauthorized', /push\.apns\.topic/],
      ['BadTopic', 400, 'unauthorized', /push\.apns\.topic/],
      ['BadEnvironmentKeyInToken', 403, 'unauthorized', /push\.apns\.production/],
      ['BadEnvironmentKeyIdInToken', 403, 'unauthorized', /push\.apns\.production/],
      ['SomethingNew', 403, 'unauthorized', /^SomethingNew \(status 403\)$/],
      ['PayloadTooLarge', 413, 'refused', /too big/],
      ['SomethingNew', 400, 'refused', /^SomethingNew \(status 400\)$/],
      ['constructor', 400, 'refused', /^constructor \(status 400\)$/],
      [`<b>${DEVICE_TOKEN}</b>`, 400, 'refused', /^unknown reason \(status 400\)$/],
    ] as const
  ).map(([reason, status, kind, words]) => {
    return [`maps APNs ${status} ${reason.slice(0, 30)} to ${kind}`, { status, reason }, kind, words] as const
  })
  gatewayContract<ApnsFault, typeof position.service>(position, {
    answers,
    unreachable: /^the connection to APNs was lost \(ECONNREFUSED\)$/,
    leaks: (token) => ({ answers: [{ status: 410, reason: 'Unregistered' }, 'drop'], tokens: [`${token}!`] }),
    secrets: async () => [(await readFile(position.service.keyFile, 'utf8')).split('\n')[1] ?? ''],
  })

  // Shows: sidecar 18.4.
  it('sends all notifications over one connection with one provider token', async () => {
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => send()))
    expect(outcomes).to.deep.equal(Array(50).fill(ACCEPTED))
    expect(position.service).to.include({ connections: 1, providerTokens: 1 })
    const { deviceToken, topic } = position.service.received[0] ?? {}
    expect({ deviceToken, topic }).to.deep.equal({ deviceToken: DEVICE_TOKEN.toLowerCase(), topic: 'org.example.aprs' })
  })

  // Shows: sidecar 21.2.
  it('shortens a notification that is too big for APNs to exactly 4096 bytes', async () => {
    expect(await send(DEVICE_TOKEN, BIG)).to.deep.equal(ACCEPTED)
    const payload = position.service.received[0]?.payload
    expect(payload).to.include(NOTIFICATION.data).and.not.to.have.property('fromAvatarImage')
    expect(Buffer.byteLength(JSON.stringify(payload))).to.equal(4096)
  })

  // Shows: sidecar 3.4.
  it('reports a malformed device token as gone without a request to APNs', async () => {
    for (const token of ['', '../../../etc', 'xyz', `${DEVICE_TOKEN}\r\n`, 'a'.repeat(201)]) {
      expect(await send(token)).to.include({ kind: 'token_gone', unasked: true })
    }
    expect(position.service.attempts).to.equal(0)
  })

  // Shows: sidecar C9.19.
  it('renews an expired provider token and sends the notification again', async () => {
    await send()
    position.service.fail({ status: 403, reason: 'ExpiredProviderToken' })
    expect(await send()).to.deep.equal(ACCEPTED)
    expect(position.service).to.include({ providerTokens: 2, attempts: 3 })
  })

  it('advises to check the clock if APNs rejects the renewed provider token as expired', async () => {
    position.service.fail({ status: 403, reason: 'ExpiredProviderToken' }, 2)
    const outcome = await send()
    expect(outcome).to.have.property('kind', 'unauthorized')
    expect(outcome).to.have.property('reason').that.includes('clock')
    expect(position.service.attempts).to.equal(2)
  })

  it('advises to check the clock, then the keys, for an invalid provider token', async () => {
    position.service.fail({ status: 403, reason: 'InvalidProviderToken' })
    expect(await send())
      .to.have.property('reason')
      .that.matches(/^InvalidProviderToken: check this machine's clock first .*push\.apns\.keyFile/)
  })

  for (const fault of ['goaway', 'drop'] satisfies ApnsFault[]) {
    // Shows: sidecar C9.9, C9.10.
    it(`a ${fault} by APNs delays one notification; the next one uses a new connection`, async () => {
      await send()
      position.service.fail(fault)
      const outcome = await send()
      expect(outcome).to.deep.equal({ kind: 'try_later', reason: 'the connection to APNs was lost' })
      expect(await send()).to.deep.equal(ACCEPTED)
      expect(position.service).to.include({ attempts: 3, connections: 2 })
    })
  }

  // Shows: sidecar C9.10.
  it('accepts the answers that APNs sends after a GOAWAY, and notifies each phone once', async () => {
    const tokens = Array.from({ length: 50 }, (_, index) => index.toString(16).padStart(64, '0'))
    let farewell: Promise<void> | undefined
    const leaving = await startApns({
      onReceived: () => {
        if (leaving.attempts === tokens.length) farewell ??= leaving.goaway()
      },
    })
    position.closing(leaving)
    const second = position.closing(openApns(leaving.settings, position.log, position.clock))
    const outcomes = await Promise.all(tokens.map((token) => second.send(token, NOTIFICATION)))
    expect(outcomes).to.deep.equal(tokens.map(() => ACCEPTED))
    await farewell
    expect(await second.send(DEVICE_TOKEN, NOTIFICATION)).to.deep.equal(ACCEPTED)
    expect(leaving).to.include({ attempts: 51, connections: 2 })
  })

  // Shows: sidecar C9.10.
  it('sends over a new connection if APNs sent GOAWAY between notifications', async () => {
    await send()
    await position.service.goaway()
    expect(await send()).to.deep.equal(ACCEPTED)
    expect(position.service.connections).to.equal(2)
  })

  it('keeps the connection if APNs leaves only one of several notifications unanswered', async () => {
    await send()
    position.service.fail('hang')
    const sending = send()
    await position.service.waitForAttempts(2)
    await send()
    await position.clock.advance(10_000)
    expect(await sending).to.have.property('kind', 'try_later')
    expect(await send()).to.deep.equal(ACCEPTED)
    expect(position.service.connections).to.equal(1)
  })
})
