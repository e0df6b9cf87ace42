import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { type ApnsFault, type ApnsFixture, startApns } from '../../../fixtures/push/apns.ts'
import { createLog } from '../../../sidecar/log.ts'
import { openApns } from '../../../sidecar/push/apns/apns.ts'
import type { Notification, PushGateway, PushOutcome } from '../../../sidecar/push/gateway/gateway.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const TOKEN = 'aB'.repeat(32)
const NOTIFICATION: Notification = {
  title: 'W1AW',
  body: 'Hello',
  collapseId: 'aprs-N0CALL-7',
  data: { fromCall: 'W1AW', seqId: '1', to: 'N0CALL-7', count: '1', collapseId: 'aprs-N0CALL-7' },
}
const ACCEPTED: PushOutcome = { kind: 'accepted' }

describe('APNs through node-apn', () => {
  let lines: string[]
  let clock: FakeClock
  let apns: ApnsFixture
  let gateway: PushGateway
  const open = (settings: Parameters<typeof openApns>[0] = apns.settings) =>
    openApns(settings, createLog('debug', { write: (line) => lines.push(line) }), clock)

  beforeEach(async () => {
    lines = []
    clock = new FakeClock(Date.now())
    apns = await startApns()
    gateway = open()
  })
  afterEach(async () => {
    await gateway.close()
    await apns.close()
  })

  it('delivers an alert with the data keys beside aps, at once, for a day, and folded by collapse id', async () => {
    expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal(ACCEPTED)
    expect(apns.received).to.deep.equal([
      {
        deviceToken: TOKEN.toLowerCase(),
        topic: 'org.example.aprs',
        pushType: 'alert',
        collapseId: 'aprs-N0CALL-7',
        priority: 10,
        expiration: Math.floor(clock.now() / 1000) + 86_400,
        payload: {
          ...NOTIFICATION.data,
          aps: {
            alert: { title: 'W1AW', body: 'Hello' },
            sound: 'default',
            'thread-id': 'aprs-N0CALL-7',
            'mutable-content': 1,
          },
        },
      },
    ])
  })

  it('sends everything over one connection and with one provider token', async () => {
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => gateway.send(TOKEN, NOTIFICATION)))
    expect(outcomes).to.deep.equal(Array(50).fill(ACCEPTED))
    expect(apns).to.include({ connections: 1, providerTokens: 1 })
  })

  it('fits what is too big into the limit to the byte', async () => {
    const big = {
      ...NOTIFICATION,
      body: 'x'.repeat(9000),
      data: { ...NOTIFICATION.data, fromAvatarImage: 'A'.repeat(3000) },
    }
    expect(await gateway.send(TOKEN, big)).to.deep.equal(ACCEPTED)
    const payload = apns.received[0]?.payload
    expect(payload).to.include(NOTIFICATION.data).and.not.to.have.property('fromAvatarImage')
    expect(Buffer.byteLength(JSON.stringify(payload))).to.equal(4096)
  })

  const rows: readonly [string, number, PushOutcome['kind'], RegExp][] = [
    ['Unregistered', 410, 'token_gone', /app was removed/],
    ['ExpiredToken', 410, 'token_gone', /expired/],
    ['BadDeviceToken', 400, 'token_gone', /push\.apns\.production/],
    ['DeviceTokenNotForTopic', 400, 'token_gone', /push\.apns\.topic/],
    ['TooManyRequests', 429, 'try_later', /this phone/],
    ['TooManyProviderTokenUpdates', 429, 'try_later', /signing key/],
    ['InternalServerError', 500, 'try_later', /internal error/],
    ['ServiceUnavailable', 503, 'try_later', /not available/],
    ['Shutdown', 503, 'try_later', /shuts down/],
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
    [`<b>${TOKEN}</b>`, 400, 'refused', /^unknown reason \(status 400\)$/],
  ]
  for (const [reason, status, kind, words] of rows) {
    it(`takes ${status} ${reason.slice(0, 30)} for ${kind}, asking once`, async () => {
      apns.fail({ status, reason })
      const outcome = await gateway.send(TOKEN, NOTIFICATION)
      expect(outcome).to.have.property('kind', kind)
      expect(outcome).not.to.have.property('unasked')
      expect(outcome).to.have.property('reason').that.matches(words)
      expect(apns.attempts).to.equal(1)
      expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal(ACCEPTED)
    })
  }

  it('takes what is no device token for gone, without asking', async () => {
    for (const token of ['', '../../../etc', 'xyz', `${TOKEN}\r\n`, 'a'.repeat(201)]) {
      expect(await gateway.send(token, NOTIFICATION)).to.include({ kind: 'token_gone', unasked: true })
    }
    expect(apns.attempts).to.equal(0)
  })

  it('makes itself a new provider token when APNs finds the old one expired, and sends the notification again', async () => {
    await gateway.send(TOKEN, NOTIFICATION)
    apns.fail({ status: 403, reason: 'ExpiredProviderToken' })
    expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal(ACCEPTED)
    expect(apns).to.include({ providerTokens: 2, attempts: 3 })
  })

  it('makes itself a new provider token when the clock is set back, since the old one is from the future then', async () => {
    await gateway.send(TOKEN, NOTIFICATION)
    for (const [stepMs, tokens] of [
      [-30_000, 1],
      [3_600_000, 1],
      [-3_600_000, 2],
      [0, 2],
    ] as const) {
      clock.set(clock.now() + stepMs)
      expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal(ACCEPTED)
      expect(apns.providerTokens).to.equal(tokens)
    }
    await apns.waitForDisconnects(1)
  })

  it('says to check the clock when APNs finds the new provider token expired, too', async () => {
    apns.fail({ status: 403, reason: 'ExpiredProviderToken' }, 2)
    const outcome = await gateway.send(TOKEN, NOTIFICATION)
    expect(outcome).to.have.property('kind', 'unauthorized')
    expect(outcome).to.have.property('reason').that.includes('clock')
    expect(apns.attempts).to.equal(2)
  })

  describe('while each new provider token is too old for it', () => {
    const EXPIRED: ApnsFault = { status: 403, reason: 'ExpiredProviderToken' }
    const PAUSES_MS = [10_000, 20_000, 40_000, 80_000]
    const refused = async () => expect(await gateway.send(TOKEN, NOTIFICATION)).to.include({ kind: 'unauthorized' })

    it('is left alone for 10 s, and twice as long each time, however many notifications there are', async () => {
      apns.fail(EXPIRED, 1000)
      for (const [round, pauseMs] of PAUSES_MS.entries()) {
        for (let sent = 0; sent < 10; sent++) await refused()
        await clock.advance(pauseMs - 1)
        await refused()
        expect(apns.attempts).to.equal(2 * (round + 1))
        await clock.advance(1)
      }
    })

    it('is left alone for longer and longer also when it says that there were too many', async () => {
      apns.fail(EXPIRED, 2)
      await refused()
      await clock.advance(10_000)
      apns.fail({ status: 429, reason: 'TooManyProviderTokenUpdates' })
      expect(await gateway.send(TOKEN, NOTIFICATION)).to.include({ kind: 'try_later' })
      apns.fail(EXPIRED, 2)
      await refused()
      await clock.advance(19_999)
      await refused()
      expect(apns.attempts).to.equal(5)
    })

    it('is asked again once the clock is set, and after anything else that it says not so much later', async () => {
      apns.fail(EXPIRED, 2 * PAUSES_MS.length)
      for (const _ of PAUSES_MS) {
        await refused()
        clock.set(clock.now() + 3_600_000)
      }
      expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal(ACCEPTED)
      apns.fail(EXPIRED, 2)
      await refused()
      await clock.advance(10_000)
      expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal(ACCEPTED)
    })
  })

  for (const fault of ['goaway', 'drop'] satisfies ApnsFault[]) {
    it(`tries later when the notification meets a ${fault}, and sends over a new connection then`, async () => {
      await gateway.send(TOKEN, NOTIFICATION)
      apns.fail(fault)
      const outcome = await gateway.send(TOKEN, NOTIFICATION)
      expect(outcome).to.deep.equal({ kind: 'try_later', reason: 'the connection to APNs was lost' })
      expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal(ACCEPTED)
      expect(apns).to.include({ attempts: 3, connections: 2 })
    })
  }

  it('waits for the answers that APNs still gives after a GOAWAY: those phones are told once', async () => {
    const tokens = Array.from({ length: 50 }, (_, index) => index.toString(16).padStart(64, '0'))
    let farewell: Promise<void> | undefined
    const leaving = await startApns({
      onReceived: () => {
        if (leaving.attempts === tokens.length) farewell ??= leaving.goaway()
      },
    })
    const other = open(leaving.settings)
    try {
      const outcomes = await Promise.all(tokens.map((token) => other.send(token, NOTIFICATION)))
      expect(outcomes).to.deep.equal(tokens.map(() => ACCEPTED))
      await farewell
      expect(await other.send(TOKEN, NOTIFICATION)).to.deep.equal(ACCEPTED)
      expect(leaving).to.include({ attempts: 51, connections: 2 })
    } finally {
      await other.close()
      await leaving.close()
    }
  })

  it('sends over a new connection after a GOAWAY between notifications', async () => {
    await gateway.send(TOKEN, NOTIFICATION)
    await apns.goaway()
    expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal(ACCEPTED)
    expect(apns.connections).to.equal(2)
  })

  it('tries later when nobody listens, and says so', async () => {
    await gateway.send(TOKEN, NOTIFICATION)
    await apns.close()
    expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal({
      kind: 'try_later',
      reason: 'the connection to APNs was lost (ECONNREFUSED)',
    })
  })

  it('tries later when the server cannot be verified', async () => {
    const other = open({ ...apns.settings, caFile: null })
    const outcome = await other.send(TOKEN, NOTIFICATION)
    await other.close()
    expect(outcome).to.have.property('kind', 'try_later')
    expect(outcome).to.have.property('reason').that.includes('UNABLE_TO_VERIFY_LEAF_SIGNATURE')
  })

  it('ends a call after 10 s and drops the connection that has gone silent', async () => {
    await gateway.send(TOKEN, NOTIFICATION)
    apns.fail('hang')
    const sending = gateway.send(TOKEN, NOTIFICATION)
    await apns.waitForAttempts(2)
    await clock.advance(9_999)
    expect(await Promise.race([sending, 'waiting'])).to.equal('waiting')
    await clock.advance(1)
    expect(await sending).to.deep.equal({ kind: 'try_later', reason: 'no answer within 10 s' })
    await apns.waitForDisconnects(1)
    expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal(ACCEPTED)
    expect(apns).to.include({ attempts: 3, connections: 2 })
    expect(clock.pending).to.equal(0)
  })

  it('keeps the connection when only one notification of many gets no answer', async () => {
    await gateway.send(TOKEN, NOTIFICATION)
    apns.fail('hang')
    const sending = gateway.send(TOKEN, NOTIFICATION)
    await apns.waitForAttempts(2)
    await gateway.send(TOKEN, NOTIFICATION)
    await clock.advance(10_000)
    expect(await sending).to.have.property('kind', 'try_later')
    expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal(ACCEPTED)
    expect(apns.connections).to.equal(1)
  })

  it('ends a call after 10 s when the connection is accepted but TLS never begins', async () => {
    const silent = createServer((socket) => socket.resume())
    const connected = once(silent, 'connection')
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const other = open({ ...apns.settings, port: (silent.address() as { port: number }).port })
    const sending = other.send(TOKEN, NOTIFICATION)
    await connected
    await clock.advance(10_000)
    expect(await sending).to.deep.equal({ kind: 'try_later', reason: 'no answer within 10 s' })
    // Ends only when the client has let go of its connection, which it does before it is closed.
    await new Promise((resolve) => silent.close(resolve))
    await other.close()
  })

  it('ends what is under way when it is closed, takes nothing more, and can be closed twice', async () => {
    apns.fail('hang')
    const sending = gateway.send(TOKEN, NOTIFICATION)
    await apns.waitForAttempts(1)
    await Promise.all([gateway.close(), gateway.close()])
    const closed = { kind: 'try_later', reason: 'the gateway is closed' }
    expect(await sending).to.deep.equal(closed)
    expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal(closed)
    await apns.waitForDisconnects(1)
    expect(apns.attempts).to.equal(1)
  })

  it('puts neither the device token nor the key into log and outcomes', async () => {
    apns.fail({ status: 410, reason: 'Unregistered' })
    apns.fail('drop')
    const outcomes = []
    for (const token of [TOKEN, TOKEN, `${TOKEN}!`]) outcomes.push(await gateway.send(token, NOTIFICATION))
    const written = JSON.stringify([outcomes, lines])
    expect(lines).to.have.length.above(1)
    expect(written).not.to.include(TOKEN)
    expect(written).not.to.include((await readFile(apns.keyFile, 'utf8')).split('\n')[1])
  })

  describe('given settings that are of no use', () => {
    let folder: string
    let file: string
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'apns-test-'))
      file = join(folder, 'key.p8')
    })
    afterEach(() => rm(folder, { recursive: true }))

    for (const name of ['keyFile', 'keyId', 'teamId', 'topic'] as const) {
      it(`says that push.apns.${name} is missing`, () => {
        expect(() => open({ ...apns.settings, [name]: null })).to.throw(`push.apns.${name} is not set.`)
      })
    }

    it('names the key file and the CA file that are missing', () => {
      const problem = `${file} cannot be read (ENOENT).`
      expect(() => open({ ...apns.settings, keyFile: file })).to.throw(`push.apns.keyFile: ${problem}`)
      expect(() => open({ ...apns.settings, caFile: file })).to.throw(`push.apns.caFile: ${problem}`)
    })

    it('says that a key is of another kind or none at all, and quotes nothing of it', async () => {
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' })
      for (const content of [privateKey.export({ type: 'pkcs8', format: 'pem' }), 'SECRET']) {
        await writeFile(file, content)
        expect(() => open({ ...apns.settings, keyFile: file })).to.throw(
          `push.apns.keyFile: ${file} is no signing key for APNs (a P-256 key in PEM).`,
        )
      }
    })
  })
})
