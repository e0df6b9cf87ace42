import { once } from 'node:events'
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { type FcmFault, type FcmFixture, startFcm } from '../../../fixtures/push/fcm.ts'
import { createLog } from '../../../sidecar/log.ts'
import { openFcm, PAUSE_MS } from '../../../sidecar/push/fcm/fcm.ts'
import type { Notification, PushGateway, PushOutcome } from '../../../sidecar/push/gateway/gateway.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const TOKEN = 'registration-token:1234567890'
const NOTIFICATION: Notification = {
  title: 'W1AW',
  body: 'Hello',
  collapseId: 'aprs-N0CALL-7',
  data: { fromCall: 'W1AW', seqId: '1', to: 'N0CALL-7', count: '1', collapseId: 'aprs-N0CALL-7' },
}

describe('FCM through firebase-admin', () => {
  let lines: string[]
  let clock: FakeClock
  let fcm: FcmFixture
  let gateway: PushGateway
  let folder: string
  const open = (settings = fcm.settings) =>
    openFcm(settings, createLog('debug', { write: (line) => lines.push(line) }), clock)

  /** A gateway beside the first one, with a key file of its own. */
  async function openOther(): Promise<PushGateway> {
    const serviceAccountFile = join(folder, 'fcm-secret')
    await copyFile(fcm.serviceAccountFile, serviceAccountFile)
    return open({ ...fcm.settings, serviceAccountFile })
  }

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fcm-test-'))
    lines = []
    clock = new FakeClock(Date.now())
    fcm = await startFcm()
    gateway = open()
  })
  afterEach(async () => {
    await gateway.close()
    await fcm.close()
    await rm(folder, { recursive: true })
  })

  it('delivers title, body and data, high priority for a day, and folds by collapse key and tag', async () => {
    expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal({ kind: 'accepted' })
    expect(fcm.received).to.deep.equal([
      {
        token: TOKEN,
        notification: { title: 'W1AW', body: 'Hello' },
        data: NOTIFICATION.data,
        android: {
          collapse_key: 'aprs-N0CALL-7',
          priority: 'high',
          ttl: '86400s',
          notification: { tag: 'aprs-N0CALL-7' },
        },
      },
    ])
  })

  it('asks for one access token and shows it with every message', async () => {
    await Promise.all(Array.from({ length: 5 }, () => gateway.send(TOKEN, NOTIFICATION)))
    await gateway.send(TOKEN, NOTIFICATION)
    expect(fcm.received).to.have.length(6)
    expect(fcm.tokenRequests).to.equal(1)
  })

  it('keeps its connections for the next message, and ends them when it is closed', async () => {
    await gateway.send(TOKEN, NOTIFICATION)
    const { connections } = fcm
    await gateway.send(TOKEN, NOTIFICATION)
    await gateway.send(TOKEN, NOTIFICATION)
    expect(fcm.connections).to.equal(connections)
    await gateway.close()
    await fcm.waitForDisconnects(connections)
  })

  it('fits what is too big into the limit', async () => {
    const big = {
      ...NOTIFICATION,
      body: '"ü'.repeat(4000),
      data: { ...NOTIFICATION.data, fromAvatarImage: 'A'.repeat(3000) },
    }
    expect(await gateway.send(TOKEN, big)).to.deep.equal({ kind: 'accepted' })
    expect(fcm.received[0]?.data).to.deep.equal(NOTIFICATION.data)
    expect(fcm.received[0]?.notification?.body).to.match(/^["ü]{500,}…$/)
  })

  it('takes a service account file of any name', async () => {
    const other = await openOther()
    expect(await other.send(TOKEN, NOTIFICATION)).to.deep.equal({ kind: 'accepted' })
    await other.close()
  })

  const rows: readonly [string, FcmFault, PushOutcome][] = [
    [
      'takes an unregistered token for gone',
      { errorCode: 'UNREGISTERED' },
      { kind: 'token_gone', reason: 'the app was removed or got another token' },
    ],
    [
      'takes a token that FCM did not issue for gone',
      { errorCode: 'INVALID_ARGUMENT', message: 'The registration token is not a valid FCM registration token' },
      { kind: 'token_gone', reason: 'FCM did not issue this token' },
    ],
    [
      'takes a token of another project for gone',
      { errorCode: 'SENDER_ID_MISMATCH', message: 'SenderId mismatch' },
      { kind: 'token_gone', reason: 'the token belongs to another Firebase project' },
    ],
    [
      'gives up on an invalid payload',
      { errorCode: 'INVALID_ARGUMENT', message: 'Invalid data payload key: from' },
      { kind: 'refused', reason: 'FCM finds the payload invalid' },
    ],
    [
      'says what to mend when the service account may not send',
      { errorCode: 'PERMISSION_DENIED' },
      {
        kind: 'unauthorized',
        reason: 'the service account may not send here: check its project, its role and that the FCM API is enabled',
      },
    ],
    [
      'says what to mend at a 403 that is not in words of FCM',
      { status: 403, text: '<h1>No</h1>' },
      { kind: 'unauthorized', reason: 'FCM refuses the service account: check its role' },
    ],
    [
      'tries later after a 400 that is not in words of FCM',
      { status: 400, text: '<h1>No</h1><p>Your registration token is not valid.' },
      { kind: 'try_later', reason: 'unexpected answer with status 400' },
    ],
    [
      'tries later after a 404 that is not in words of FCM',
      { status: 404, text: '<h1>No</h1>' },
      { kind: 'try_later', reason: 'unexpected answer with status 404' },
    ],
    [
      'tries later over quota, as late as FCM says',
      { errorCode: 'QUOTA_EXCEEDED', retryAfterSeconds: 60 },
      { kind: 'try_later', reason: 'over the sending quota', afterMs: 60_000 },
    ],
    [
      'tries later when FCM is not available, as late as FCM says',
      { errorCode: 'UNAVAILABLE', retryAfterSeconds: 7 },
      { kind: 'try_later', reason: 'FCM is not available', afterMs: 7_000 },
    ],
    [
      'tries later when FCM is not available and does not say for how long',
      { errorCode: 'UNAVAILABLE' },
      { kind: 'try_later', reason: 'FCM is not available' },
    ],
    [
      'tries later after an internal error',
      { errorCode: 'INTERNAL' },
      { kind: 'try_later', reason: 'internal error of FCM' },
    ],
    [
      'tries later when a proxy answers 502',
      { status: 502, text: '<h1>Bad gateway</h1>' },
      { kind: 'try_later', reason: 'unexpected answer with status 502' },
    ],
    [
      'tries later when something else answers 200',
      { status: 200, text: '<h1>Log in to the hotel network</h1>' },
      { kind: 'try_later', reason: 'unexpected answer with status 200' },
    ],
  ]
  const ofOtherPhone: readonly [string, FcmFault][] = [
    ['in words of its own', { errorCode: 'UNAUTHENTICATED', message: 'Auth error from APNS or Web Push Service' }],
    ['as if the access token were missing', { errorCode: 'THIRD_PARTY_AUTH_ERROR' }],
    ['as if the access token were missing, compressed', { errorCode: 'THIRD_PARTY_AUTH_ERROR', gzip: true }],
  ]
  for (const [how, fault] of ofOtherPhone) {
    it(`keeps its access token and tries later where the project has no credentials for the kind of phone, which FCM says ${how}`, async () => {
      await gateway.send(TOKEN, NOTIFICATION)
      fcm.fail(fault, 2)
      for (let tries = 0; tries < 2; tries++)
        expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal({
          kind: 'try_later',
          reason: 'the token is of an iPhone or a browser, for which the Firebase project has no credentials',
        })
      expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal({ kind: 'accepted' })
      expect(fcm).to.include({ tokenRequests: 1, attempts: 4 })
    })
  }

  for (const [name, fault, expected] of rows) {
    it(`${name}, asking once`, async () => {
      fcm.fail(fault)
      expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal(expected)
      expect(fcm.attempts).to.equal(1)
      expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal({ kind: 'accepted' })
    })
  }

  it('survives a connection that is reset once', async () => {
    fcm.fail('reset')
    expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal({ kind: 'accepted' })
  })

  it('tries later when connections are reset again and again', async () => {
    fcm.fail('reset', 100)
    const outcome = await gateway.send(TOKEN, NOTIFICATION)
    expect(outcome).to.deep.equal({ kind: 'try_later', reason: 'FCM cannot be reached (ECONNRESET)' })
    expect(fcm.attempts).to.equal(2)
  })

  it('tries later when nobody listens', async () => {
    await gateway.send(TOKEN, NOTIFICATION)
    await fcm.close()
    expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal({
      kind: 'try_later',
      reason: 'FCM cannot be reached (ECONNREFUSED)',
    })
  })

  it('tries later when the server cannot be verified', async () => {
    const other = openFcm({ ...fcm.settings, caFile: null }, createLog('silent'), clock)
    const outcome = await other.send(TOKEN, NOTIFICATION)
    await other.close()
    expect(outcome).to.include({ kind: 'try_later' })
    expect(outcome).to.have.property('reason').that.includes('UNABLE_TO_VERIFY_LEAF_SIGNATURE')
  })

  it('ends a call after 10 s, and its client does not send the notification after that', async () => {
    fcm.fail('hang')
    const sending = gateway.send(TOKEN, NOTIFICATION)
    await fcm.waitForAttempts(1)
    await clock.advance(9_999)
    expect(await Promise.race([sending, 'waiting'])).to.equal('waiting')
    await clock.advance(1)
    expect(await sending).to.deep.equal({ kind: 'try_later', reason: 'no answer within 10 s' })
    expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal({ kind: 'accepted' })
    expect(fcm.attempts).to.equal(2)
    expect(clock.pending).to.equal(0)
  })

  it('ends a call after 10 s when the connection is accepted but TLS never begins', async () => {
    const silent = createServer((socket) => socket.resume())
    const connected = once(silent, 'connection')
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const address = silent.address() as { port: number }
    const other = open({ ...fcm.settings, endpoint: `https://127.0.0.1:${address.port}` })
    const sending = other.send(TOKEN, NOTIFICATION)
    await connected
    await clock.advance(10_000)
    expect(await sending).to.deep.equal({ kind: 'try_later', reason: 'no answer within 10 s' })
    await other.close()
    // Ends only when the client has let go of its connection.
    await new Promise((resolve) => silent.close(resolve))
  })

  describe('when its access token is not accepted any more', () => {
    it('asks for another one and sends the notification again, at once', async () => {
      await gateway.send(TOKEN, NOTIFICATION)
      fcm.revokeAccessTokens()
      expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal({ kind: 'accepted' })
      expect(fcm).to.include({ tokenRequests: 2, attempts: 3 })
      expect(fcm.received).to.have.length(2)
    })

    it('asks for one other token, however many notifications meet that', async () => {
      await gateway.send(TOKEN, NOTIFICATION)
      fcm.revokeAccessTokens()
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => gateway.send(TOKEN, NOTIFICATION)))
      expect(outcomes).to.deep.equal(outcomes.map(() => ({ kind: 'accepted' })))
      expect(fcm.tokenRequests).to.equal(2)
      expect(fcm.received).to.have.length(21)
    })

    const refusals: readonly [string, FcmFault][] = [
      ['', { errorCode: 'UNAUTHENTICATED' }],
      [', compressed', { errorCode: 'UNAUTHENTICATED', gzip: true }],
      [
        ', longer than any answer of FCM',
        { errorCode: 'UNAUTHENTICATED', message: 'no'.repeat(1_000_000), gzip: true },
      ],
      [', as a page', { status: 401, text: '<h1>THIRD_PARTY_AUTH_ERROR</h1>' }],
    ]
    for (const [how, fault] of refusals) {
      it(`says what to mend when the other one is not accepted either${how}, and asks for a third one not before 10 s`, async () => {
        fcm.fail(fault, 4)
        const outcome = await gateway.send(TOKEN, NOTIFICATION)
        expect(outcome).to.have.property('kind', 'unauthorized')
        expect(outcome)
          .to.have.property('reason')
          .that.matches(/clock.*service account/)
        expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal(outcome)
        expect(fcm).to.include({ tokenRequests: 2, attempts: 3 })
        await clock.advance(PAUSE_MS)
        expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal({ kind: 'accepted' })
        expect(fcm).to.include({ tokenRequests: 3, attempts: 5 })
      })
    }

    it('does not send again what was given up meanwhile', async () => {
      await gateway.send(TOKEN, NOTIFICATION)
      fcm.revokeAccessTokens()
      fcm.failTokenEndpoint('hang')
      const sending = gateway.send(TOKEN, NOTIFICATION)
      await fcm.waitForTokenRequests(2)
      await clock.advance(10_000)
      expect(await sending).to.deep.equal({ kind: 'try_later', reason: 'no answer within 10 s' })
      fcm.failTokenEndpoint()
      expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal({ kind: 'accepted' })
      expect(fcm.received).to.have.length(2)
    })
  })

  describe('when it gets no access token', () => {
    const REMEDY = /invalid_grant.*clock.*push\.fcm\.serviceAccountFile/

    for (const [what, description] of [
      ['whose key was deleted', 'Invalid JWT Signature.'],
      ['that was deleted or disabled', 'Invalid grant: account not found'],
    ] as const) {
      it(`says what to mend about a service account ${what}, and sends once that is done`, async () => {
        fcm.failTokenEndpoint({ status: 400, error: 'invalid_grant', description })
        const outcome = await gateway.send(TOKEN, NOTIFICATION)
        expect(outcome).to.have.property('kind', 'unauthorized')
        expect(outcome).to.have.property('reason').that.matches(REMEDY)
        fcm.failTokenEndpoint()
        expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal({ kind: 'accepted' })
      })
    }

    it("says what to mend when this machine's clock is wrong, and sends once it is right", async () => {
      fcm.setClockAhead(56 * 365 * 24 * 3_600_000)
      const outcome = await gateway.send(TOKEN, NOTIFICATION)
      expect(outcome).to.have.property('kind', 'unauthorized')
      expect(outcome).to.have.property('reason').that.matches(REMEDY)
      fcm.setClockAhead(0)
      expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal({ kind: 'accepted' })
    })

    it('tries later when the token address has an outage, and sends once that is over', async () => {
      fcm.failTokenEndpoint({ status: 503, error: 'unavailable' })
      expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal({
        kind: 'try_later',
        reason: 'no access token to be had from Google',
      })
      fcm.failTokenEndpoint()
      expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal({ kind: 'accepted' })
    })

    it('tries later when the token address hangs, and sends once that is over', async () => {
      fcm.failTokenEndpoint('hang')
      const sending = gateway.send(TOKEN, NOTIFICATION)
      await fcm.waitForTokenRequests(1)
      await clock.advance(10_000)
      expect(await sending).to.deep.equal({ kind: 'try_later', reason: 'no answer within 10 s' })
      fcm.failTokenEndpoint()
      expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal({ kind: 'accepted' })
    })
  })

  it('ends what is under way when it is closed, takes nothing more, and can be closed twice', async () => {
    fcm.fail('hang')
    const sending = gateway.send(TOKEN, NOTIFICATION)
    await fcm.waitForAttempts(1)
    await Promise.all([gateway.close(), gateway.close()])
    const closed = { kind: 'try_later', reason: 'the gateway is closed' }
    expect(await sending).to.deep.equal(closed)
    expect(await gateway.send(TOKEN, NOTIFICATION)).to.deep.equal(closed)
    expect(fcm.attempts).to.equal(1)
  })

  it('sends nothing when it is closed before its client was loaded', async () => {
    const early = await openOther()
    const sending = early.send(TOKEN, NOTIFICATION)
    await early.close()
    await sending
    await gateway.send(TOKEN, NOTIFICATION)
    expect(fcm).to.include({ tokenRequests: 1, attempts: 1 })
  })

  it('puts neither the registration token nor the key into log and outcomes', async () => {
    const { private_key } = JSON.parse(await readFile(fcm.serviceAccountFile, 'utf8'))
    fcm.fail({ status: 500, text: `Nothing is known of ${TOKEN}` })
    const outcomes = [await gateway.send(TOKEN, NOTIFICATION), await gateway.send('no token!', NOTIFICATION)]
    const written = JSON.stringify([outcomes, lines])
    expect(lines).to.have.length.above(1)
    expect(written).not.to.include(TOKEN)
    expect(written).not.to.include('no token!')
    expect(written).not.to.include(private_key.split('\n')[1])
  })

  describe('given a service account file that is of no use', () => {
    let file: string
    beforeEach(() => {
      file = join(folder, 'account.json')
    })
    const opening = () => open({ ...fcm.settings, serviceAccountFile: file })

    it('names the file that is missing', () => {
      expect(opening).to.throw(`push.fcm.serviceAccountFile: ${file} cannot be read (ENOENT).`)
    })

    it('names the CA file that is missing', () => {
      expect(() => open({ ...fcm.settings, caFile: file })).to.throw(
        `push.fcm.caFile: ${file} cannot be read (ENOENT).`,
      )
    })

    const account = { type: 'service_account', project_id: 'p', client_email: 'e', private_key: 'SECRET' }
    for (const [what, content] of [
      ['is no JSON object', 'SECRET {'],
      ['is no JSON object', '"SECRET"'],
      [
        'is no service account key: its "type" is not "service_account"',
        JSON.stringify({ ...account, type: 'SECRET' }),
      ],
      ['has no "project_id"', JSON.stringify({ ...account, project_id: '' })],
      ['has no "client_email"', JSON.stringify({ ...account, client_email: 1 })],
      ['has no usable "private_key"', JSON.stringify(account)],
    ] as const) {
      it(`says that ${content.slice(0, 40)} ${what}, and quotes nothing of it`, async () => {
        await writeFile(file, content)
        expect(opening)
          .to.throw(`push.fcm.serviceAccountFile: ${file} ${what}.`)
          .with.property('message')
          .that.does.not.include('SECRET')
      })
    }
  })
})
