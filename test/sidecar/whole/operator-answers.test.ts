import { expect } from 'chai'
import type { NotifyAnswer, StationAnswer, StationListAnswer } from '../../../sidecar/operator/station-answers.ts'
import { claim } from '../../support/running-api.ts'
import { until } from '../../support/until.ts'
import { startWholeSidecar, type WholeSidecar } from '../../support/whole-sidecar.ts'

const TEXT = 'Good morning'

describe("The operator port's answers about stations", () => {
  let whole: WholeSidecar
  beforeEach(async () => {
    whole = await startWholeSidecar()
  })
  afterEach(() => whole.close())

  const get = (path: string, headers = {}) => fetch(whole.sidecar.adminUrl + path, { headers })
  const station = async () => (await (await get('/stations/N0CALL-7')).json()) as StationAnswer
  const list = async (query = '') => (await (await get(`/stations${query}`)).json()) as StationListAnswer
  async function notify(body: unknown) {
    const answer = await fetch(`${whole.sidecar.adminUrl}/notify`, { method: 'POST', body: JSON.stringify(body) })
    return { status: answer.status, body: (await answer.json()) as NotifyAnswer }
  }
  /** Returns the report of a station after a message was stored, acknowledged, pushed and fetched. */
  async function withMessage() {
    await whole.register('N0CALL', { ackMessages: true })
    await whole.receive('N9CALL', 'N0CALL-7', `${TEXT}{12`)
    await whole.endWindow()
    await whole.fcm.waitFor(({ token }) => token === 'token-of-N0CALL')
    await until('the push to be settled', async () => (await station()).devices[0]?.lastPush !== null)
    await whole.post('/v1/sync', { ...claim('N0CALL'), since: 0 })
    return station()
  }

  // Shows: sidecar O2.2.
  it('GET /stations/CALL shows devices, pushes and acks, and never a message text', async () => {
    const startedAt = whole.clock.now()
    const answer = await withMessage()
    const { time, ackedAt } = answer.messages[0]!
    const { registeredAt, lastSeenAt, lastPush } = answer.devices[0]!
    expect(answer).to.deep.equal({
      station: 'N0CALL-7',
      avatarHash: '',
      devices: [
        {
          platform: 'android',
          token: 'N0CALL',
          tokenDead: false,
          ackMessages: true,
          registeredAt,
          lastSeenAt,
          pending: 0,
          lastPush: { at: lastPush?.at, outcome: 'accepted', reason: null },
        },
      ],
      messages: [{ from: 'N9CALL', to: 'N0CALL-7', seqId: '12', time, ackedAt }],
    })
    for (const moment of [registeredAt, lastSeenAt, lastPush?.at, time, ackedAt])
      expect(moment).to.be.within(startedAt, whole.clock.now() + 1)
    expect(JSON.stringify(answer)).not.to.include(TEXT)
  })

  // Shows: sidecar O2.2.
  it('GET /stations lists stations in pages, and refuses an invalid page cursor', async () => {
    for (const callsign of ['N2CALL', 'N1CALL']) await whole.register(callsign)
    const { stations, next } = await list()
    expect(stations.map((each) => each.station)).to.deep.equal(['N1CALL-7', 'N2CALL-7'])
    expect(Object.keys(stations[0] ?? {})).to.have.members(['station', 'devices', 'lastSeenAt', 'pending'])
    expect(next).to.equal(null)
    expect((await list('?after=n1call-7')).stations).to.have.length(1)
    expect((await get('/stations?after=%00')).status).to.equal(400)
    for (const path of ['/stations/N9CALL-7', '/stations/%3Cscript%3E', '/view/N9CALL-7']) {
      expect((await get(path)).status, path).to.equal(404)
      expect(await (await get(path)).json()).to.include({ error: 'not_registered' })
    }
  })

  // Shows: sidecar O2.2.
  it("a station's page shows its report, with the same CSP as the status page", async () => {
    await withMessage()
    const status = await get('/')
    expect(await status.text()).to.include('<a href="/view">')
    const listed = await get('/view')
    expect(await listed.text()).to.include('<a href="/view/N0CALL-7">N0CALL-7</a>')
    const shown = await get('/view/N0CALL-7')
    const text = await shown.text()
    for (const part of ['android', '…N0CALL', 'alive', 'accepted', 'N9CALL', '<td>12</td>'])
      expect(text).to.include(part)
    expect(text).not.to.include(TEXT)
    for (const { headers } of [listed, shown])
      expect(headers.get('content-security-policy')).to.equal(status.headers.get('content-security-policy'))
  })

  // Shows: sidecar O2.3.
  it('POST /notify pushes a test message to each device, and does not store it', async () => {
    await whole.register('N0CALL')
    await whole.register('N0CALL', { deviceId: 'tablet', platform: 'ios', pushToken: 'ab'.repeat(32) })
    expect(await notify({ station: 'n0call-7', text: 'Is this on?' })).to.deep.equal({
      status: 200,
      body: {
        devices: [
          { platform: 'android', outcome: 'accepted', reason: null },
          { platform: 'ios', outcome: 'accepted', reason: null },
        ],
      },
    })
    const [test] = whole.fcm.received
    expect(test).to.include({ title: 'N0CALL-10', body: 'Is this on?', collapseId: 'aprs-test-N0CALL-7' })
    expect(test?.data).to.include({ to: 'N0CALL-7', count: '1', collapseId: 'aprs-test-N0CALL-7' })
    expect(await whole.messages('N0CALL')).to.deep.equal([])
    const { devices } = await station()
    expect(devices.map(({ lastPush }) => lastPush)).to.deep.equal([null, null])
  })

  it('POST /notify reports a dead push token, and sends nothing to it again', async () => {
    await whole.register('N0CALL')
    whole.fcm.uninstall('token-of-N0CALL')
    const outcomes = async () => (await notify({ station: 'N0CALL-7' })).body.devices
    expect(await outcomes()).to.deep.equal([
      { platform: 'android', outcome: 'token_gone', reason: 'the app was removed' },
    ])
    expect((await outcomes())[0]).to.include({ outcome: 'token_dead' })
    expect(whole.fcm.attempts).to.equal(1)
    expect((await station()).devices[0]).to.include({ tokenDead: true })
  })

  it('POST /notify refuses invalid bodies and unknown stations', async () => {
    for (const body of [
      {},
      [],
      { station: 7 },
      { station: 'N0CALL', text: 7 },
      { station: 'N0CALL', text: 'x'.repeat(201) },
    ])
      expect((await notify(body)).status, JSON.stringify(body)).to.equal(400)
    expect(await notify({ station: 'N9CALL' })).to.deep.include({ status: 404 })
    expect((await get('/notify')).status).to.equal(405)
  })

  // Shows: sidecar O2.4.
  it('debug log lines about a message show its station and stamp, but never its text', async () => {
    const answer = await withMessage()
    const { time } = answer.messages[0]!
    const lines = whole.logged
      .map((line) => JSON.parse(line))
      .filter(({ station, stamp }) => station === 'N0CALL-7' && stamp === time)
    expect(lines.map(({ event }) => event)).to.deep.equal([
      'message-stored',
      'message-acknowledged',
      'message-pushed',
      'message-fetched',
    ])
    expect(new Set(lines.map(({ level }) => level))).to.deep.equal(new Set(['debug']))
    expect(whole.logged.join('')).not.to.include(TEXT)
    await whole.clock.advance(31_000)
    await whole.receive('N9CALL', 'N0CALL-7', `${TEXT}{12`)
    const acks = whole.logged.filter(
      (line) => line.includes('message-acknowledged') && line.includes(`"stamp":${time}`),
    )
    expect(acks).to.have.length(2)
  })
})
