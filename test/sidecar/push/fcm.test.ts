import { copyFile, readFile } from 'node:fs/promises'
import { expect } from 'chai'
import type { FcmFault } from '../../../fixtures/push/fcm.ts'
import { openFcm, PAUSE_MS } from '../../../sidecar/push/fcm/fcm.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { ACCEPTED, gatewayContract, gatewaySetup } from './gateway.contract.ts'
import { BIG, fcmSubject, NOTIFICATION } from './services.ts'

const YEAR_MS = 365 * 24 * 3_600_000

describe('FCM through firebase-admin', () => {
  const folder = temporaryFolder()
  const index = gatewaySetup(fcmSubject)
  const { send } = index
  const sendsAgain = async () => expect(await send()).to.deep.equal(ACCEPTED)

  /** A gateway beside the first one, with a key file of its own. */
  async function openOther() {
    const serviceAccountFile = folder.path('fcm-secret')
    await copyFile(index.service.serviceAccountFile, serviceAccountFile)
    return index.closing(openFcm({ ...index.service.settings, serviceAccountFile }, index.log, index.clock))
  }

  const invalid = (message: string): FcmFault => ({ errorCode: 'INVALID_ARGUMENT', message })
  const notIssued = invalid('The registration token is not a valid FCM registration token')
  const ofAnother: FcmFault = { errorCode: 'SENDER_ID_MISMATCH', message: 'SenderId mismatch' }
  const page = (status: number, text = '<h1>No</h1>') => ({ status, text })
  const later = (
    [
      ['if over quota, after the delay that FCM asks for', 'QUOTA_EXCEEDED', 'over the sending quota', 60],
      ['if FCM is unavailable, after the delay it asks for', 'UNAVAILABLE', 'FCM is not available', 7],
      ['if FCM is unavailable and asks for no delay', 'UNAVAILABLE', 'FCM is not available'],
      ['after an internal error of FCM', 'INTERNAL', 'internal error of FCM'],
    ] as const
  ).map(([when, errorCode, words, seconds]) => {
    const fault = { errorCode, ...(seconds && { retryAfterSeconds: seconds }) }
    return [`tries later ${when}`, fault, 'try_later', words, seconds && seconds * 1000] as const
  })
  const notOfFcm = [
    page(400, '<h1>No</h1><p>Your registration token is not valid.'),
    page(404),
    page(502, '<h1>Bad gateway</h1>'),
    page(200, '<h1>Log in to the hotel network</h1>'),
  ].map((fault) => {
    const name = `tries later after a ${fault.status} with a page not from FCM`
    return [name, fault, 'try_later', `unexpected answer with status ${fault.status}`] as const
  })
  gatewayContract<FcmFault, typeof index.service>(index, {
    answers: [
      ['reports an unregistered token as gone', { errorCode: 'UNREGISTERED' }, 'token_gone', /app was removed/],
      ['reports a token that FCM did not issue as gone', notIssued, 'token_gone', /did not issue/],
      ['reports a token of another project as gone', ofAnother, 'token_gone', /another Firebase project/],
      ['refuses an invalid payload', invalid('Invalid data payload key: from'), 'refused', /payload invalid/],
      [
        'names the remedy if the service account lacks permission',
        { errorCode: 'PERMISSION_DENIED' },
        'unauthorized',
        /check its project, its role and that the FCM API is enabled/,
      ],
      ['names the remedy for a 403 with a page not from FCM', page(403), 'unauthorized', /check its role/],
      ...later,
      ...notOfFcm,
    ],
    unreachable: /^FCM cannot be reached \(ECONNREFUSED\)$/,
    leaks: (token) => ({ answers: [{ status: 500, text: `Nothing is known of ${token}` }], tokens: ['no token!'] }),
    secrets: async () => {
      const { private_key } = JSON.parse(await readFile(index.service.serviceAccountFile, 'utf8'))
      return [private_key.split('\n')[1]]
    },
  })

  // Shows: sidecar 18.4.
  it('the FCM gateway requests one access token and uses it for all messages', async () => {
    await Promise.all(Array.from({ length: 5 }, () => send()))
    await send()
    expect(index.service.received).to.have.length(6)
    expect(index.service.tokenRequests).to.equal(1)
  })

  it('the FCM gateway reuses its connections, and disconnects when it is closed', async () => {
    await send()
    const { connections } = index.service
    for (let more = 0; more < 2; more += 1) await send()
    expect(index.service.connections).to.equal(connections)
    await index.gateway.close()
    await index.service.waitForDisconnects(connections)
  })

  // Shows: sidecar 21.2.
  it('shortens a notification that is too big for FCM', async () => {
    expect(await send(index.subject.token, { ...BIG, body: '"ü'.repeat(4000) })).to.deep.equal(ACCEPTED)
    expect(index.service.received[0]?.data).to.deep.equal(NOTIFICATION.data)
    expect(index.service.received[0]?.notification?.body).to.match(/^["ü]{500,}…$/)
  })

  it('the FCM service account file may have any name', async () => {
    expect(await (await openOther()).send(index.subject.token, NOTIFICATION)).to.deep.equal(ACCEPTED)
  })

  const ofOtherPhone: readonly [string, FcmFault][] = [
    ['usual code', { errorCode: 'UNAUTHENTICATED', message: 'Auth error from APNS or Web Push Service' }],
    ['wrong code', { errorCode: 'THIRD_PARTY_AUTH_ERROR' }],
    ['wrong code, gzip', { errorCode: 'THIRD_PARTY_AUTH_ERROR', gzip: true }],
  ]
  for (const [how, fault] of ofOtherPhone) {
    // Shows: sidecar C9.19.
    it(`keeps the access token if Firebase has no keys for the phone's platform (${how})`, async () => {
      await send()
      index.service.fail(fault, 2)
      for (let tries = 0; tries < 2; tries++)
        expect(await send()).to.deep.equal({
          kind: 'try_later',
          reason: 'the token is of an iPhone or a browser, for which the Firebase project has no credentials',
        })
      await sendsAgain()
      expect(index.service).to.include({ tokenRequests: 1, attempts: 4 })
    })
  }

  // Shows: sidecar C9.9.
  it('sends a message again after its connection to FCM was reset once', async () => {
    index.service.fail('reset')
    await sendsAgain()
  })

  // Shows: sidecar C9.9.
  it('tries a notification later if FCM resets each connection', async () => {
    index.service.fail('reset', 100)
    expect(await send()).to.deep.equal({ kind: 'try_later', reason: 'FCM cannot be reached (ECONNRESET)' })
    expect(index.service.attempts).to.equal(2)
  })

  describe('The gateway when FCM rejects its access token', () => {
    // Shows: sidecar C9.19.
    it('requests a new access token and resends at once if FCM rejects the old token', async () => {
      await send()
      index.service.revokeAccessTokens()
      await sendsAgain()
      expect(index.service).to.include({ tokenRequests: 2, attempts: 3 })
      expect(index.service.received).to.have.length(2)
    })

    // Shows: sidecar C9.19.
    it('requests only one new access token for many rejected notifications', async () => {
      await send()
      index.service.revokeAccessTokens()
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => send()))
      expect(outcomes).to.deep.equal(Array(20).fill(ACCEPTED))
      expect(index.service.tokenRequests).to.equal(2)
      expect(index.service.received).to.have.length(21)
    })

    const refusals: readonly [string, FcmFault][] = [
      ['', { errorCode: 'UNAUTHENTICATED' }],
      [' (gzipped)', { errorCode: 'UNAUTHENTICATED', gzip: true }],
      [' (2 MB body)', { errorCode: 'UNAUTHENTICATED', message: 'no'.repeat(1_000_000), gzip: true }],
      [' (HTML page)', page(401, '<h1>THIRD_PARTY_AUTH_ERROR</h1>')],
    ]
    for (const [how, fault] of refusals) {
      // Shows: sidecar C9.19.
      it(`reports a second rejected access token${how}, and requests a third after 10 s`, async () => {
        index.service.fail(fault, 4)
        const outcome = await send()
        expect(outcome).to.have.property('kind', 'unauthorized')
        expect('reason' in outcome && outcome.reason).to.match(/clock.*service account/)
        expect(await send()).to.deep.equal(outcome)
        expect(index.service).to.include({ tokenRequests: 2, attempts: 3 })
        await index.clock.advance(PAUSE_MS)
        await sendsAgain()
        expect(index.service).to.include({ tokenRequests: 3, attempts: 5 })
      })
    }

    it('does not resend a timed-out notification when the new access token arrives', async () => {
      await send()
      index.service.revokeAccessTokens()
      index.service.failTokenEndpoint('hang')
      const sending = send()
      await index.service.waitForTokenRequests(2)
      await index.clock.advance(10_000)
      expect(await sending).to.deep.equal({ kind: 'try_later', reason: 'no answer within 10 s' })
      index.service.failTokenEndpoint()
      await sendsAgain()
      expect(index.service.received).to.have.length(2)
    })
  })

  describe('The gateway when Google issues no access token', () => {
    const deny = (description: string) => () =>
      index.service.failTokenEndpoint({ status: 400, error: 'invalid_grant', description })
    // Shows: sidecar C9.18.
    for (const [name, fails] of [
      ['the key of the account was deleted', deny('Invalid JWT Signature.')],
      ['the account was deleted or disabled', deny('Invalid grant: account not found')],
      ["this machine's clock is wrong", () => index.service.setClockAhead(56 * YEAR_MS)],
    ] as const)
      it(`reports the remedy if ${name}, and sends pushes after the repair`, async () => {
        fails()
        const outcome = await send()
        expect(outcome).to.have.property('kind', 'unauthorized')
        expect('reason' in outcome && outcome.reason).to.match(/invalid_grant.*clock.*push\.fcm\.serviceAccountFile/)
        index.service.failTokenEndpoint()
        index.service.setClockAhead(0)
        await sendsAgain()
      })

    it("reports the clock's error, or that the clock is right, if Google issues no token", async () => {
      index.service.setClockAhead(2 * 86_400_000)
      expect(await send())
        .to.have.property('reason')
        .that.matches(/set this machine's clock right first: .* 2 days behind the gateway's/)
      index.service.setClockAhead(0)
      deny('Invalid JWT Signature.')()
      expect(await send())
        .to.have.property('reason')
        .that.includes("this machine's clock is right")
    })

    for (const [how, fault, reason] of [
      ['has an outage', { status: 503, error: 'unavailable' }, 'Google issued no access token'],
      ['hangs', 'hang', 'no answer within 10 s'],
    ] as const)
      it(`tries a notification later if the token server ${how}, and then sends it`, async () => {
        index.service.failTokenEndpoint(fault)
        const sending = send()
        await index.service.waitForTokenRequests(1)
        await index.clock.advance(fault === 'hang' ? 10_000 : 0)
        expect(await sending).to.deep.equal({ kind: 'try_later', reason })
        index.service.failTokenEndpoint()
        await sendsAgain()
      })
  })

  it('an FCM gateway that closes before its client is loaded sends nothing', async () => {
    const early = await openOther()
    const sending = early.send(index.subject.token, NOTIFICATION)
    await early.close()
    await sending
    await send()
    expect(index.service).to.include({ tokenRequests: 1, attempts: 1 })
  })
})
