import { expect } from 'chai'
import { type AprsIsServer, startAprsIs } from '../../../../fixtures/aprsis/server.ts'
import { type ApnsFixture, startApns } from '../../../../fixtures/push/apns.ts'
import { type FcmFixture, startFcm } from '../../../../fixtures/push/fcm.ts'
import { passcodeOf, type Settings } from '../../../../sidecar/index.ts'
import { checkLive } from '../../../../sidecar/operator/commands/check-live.ts'
import { freePort } from '../../../support/host-process.ts'
import { settingsOf } from '../../../support/read-settings.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const CALL = 'K1ABC-10'

describe('The --check --live option', () => {
  let upstream: AprsIsServer
  let fcm: FcmFixture
  let apns: ApnsFixture
  const folder = temporaryFolder()
  beforeEach(async () => {
    ;[upstream, fcm, apns] = await Promise.all([startAprsIs(), startFcm(), startApns()])
  })
  afterEach(() => Promise.all([upstream.close(), fcm.close(), apns.close()]))

  const allPush = () => ({
    fcm: fcm.settings,
    apns: apns.settings,
    webpush: { subject: 'mailto:operator@example.org' },
  })
  function settings(aprsis: object = {}, push: object = allPush()): Settings {
    const { host, port } = upstream
    const config = { aprsis: { callsign: CALL, passcode: passcodeOf(CALL), host, port, ...aprsis }, push }
    return settingsOf(config, folder.path())
  }
  const linesOf = async (input: Settings) => (await checkLive(input)).map(({ verdict, text }) => `${verdict} ${text}`)

  // Shows: sidecar O1.21.
  it('--check --live logs in beside a running sidecar, and notifies no phone', async () => {
    expect(await linesOf(settings())).to.deep.equal([
      'ok APRS-IS login as K1ABC-16 at T2FIX: verified',
      'ok APRS-IS filter at T2FIX: confirmed',
      'ok FCM: accepts the credentials',
      'ok APNs: accepts the credentials',
      'warn Web Push: not checked, because that needs a phone. Send a test notification with --notify.',
    ])
    expect(fcm.received).to.deep.equal([])
    expect(apns.received.map(({ deviceToken }) => deviceToken)).to.deep.equal(['0'.repeat(64)])
    await upstream.until(() => upstream.clients().length === 0)
  })

  it('--check --live warns of a missing passcode and of unconfigured gateways', async () => {
    expect(await linesOf(settings({ passcode: -1 }, {}))).to.deep.equal([
      'warn APRS-IS login as K1ABC-16 at T2FIX: unverified, because aprsis.passcode is -1. Acks cannot be sent',
      'ok APRS-IS filter at T2FIX: confirmed',
      'warn FCM: off, not configured',
      'warn APNs: off, not configured',
      'warn Web Push: off, not configured',
    ])
  })

  it('--check --live fails and suggests a remedy if APRS-IS does not answer the login', async () => {
    const [login] = await linesOf(settings({ port: await freePort() }, {}))
    expect(login).to.match(/^fail APRS-IS login at 127\.0\.0\.1:\d+: ECONNREFUSED\. Check aprsis\.host/)
  })

  // Shows: sidecar O1.21.
  it('--check --live fails if the APRS-IS server rejects the passcode', async () => {
    upstream.answerUnverified = true
    upstream.filterHabit = 'fixed_at_login'
    upstream.events.once('filter', () => upstream.dropAll())
    const lines = await linesOf(settings({}, {}))
    expect(lines[0]).to.match(/^fail APRS-IS login as K1ABC-16 at T2FIX: unverified\. Check that aprsis\.passcode/)
    expect(lines[1]).to.match(/^fail APRS-IS filter at T2FIX: ECONNRESET\. Check that aprsis\.port/)
  })

  it('--check --live names the servers to reach if a connection to a gateway fails', async () => {
    const [fcmPort, apnsPort] = [await freePort(), await freePort()]
    const push = {
      fcm: { ...fcm.settings, endpoint: `https://127.0.0.1:${fcmPort}` },
      apns: { ...apns.settings, port: apnsPort },
    }
    const advice = 'Check that this machine can resolve and reach 127.0.0.1'
    expect((await linesOf(settings({}, push))).slice(2, 4)).to.deep.equal([
      `fail FCM: Google issued no access token (ECONNREFUSED). ${advice}:${fcmPort}.`,
      `fail APNs: the connection to APNs was lost (ECONNREFUSED). ${advice}:${apnsPort}.`,
    ])
  })

  // Shows: sidecar O1.21.
  it('--check --live fails with a reason if a gateway refuses or cannot be reached', async () => {
    fcm.failTokenEndpoint({ status: 400, error: 'invalid_grant' })
    apns.fail('drop')
    const lines = await linesOf(settings())
    expect(lines[2]).to.match(/^fail FCM: .*invalid_grant/)
    expect(lines[3]).to.match(/^fail APNs: the connection to APNs was lost/)
    expect(lines.join())
      .to.not.include(String(passcodeOf(CALL)))
      .and.not.include('PRIVATE KEY')
  })
})
