import { expect } from 'chai'
import type { HttpListener } from '../../../sidecar/api/http-listener.ts'
import { createLog } from '../../../sidecar/index.ts'
import type { Store } from '../../../sidecar/messages/store.ts'
import { createMetrics } from '../../../sidecar/metrics.ts'
import { openOperatorPort } from '../../../sidecar/operator/operator-port.ts'
import type { GatewayStatus } from '../../../sidecar/operator/page/gateways.ts'
import type { Obstacle } from '../../../sidecar/operator/page/obstacles.ts'
import type { UpstreamState } from '../../../sidecar/operator/page/upstream.ts'
import { rememberEvents } from '../../../sidecar/operator/watch/recent-events.ts'
import { recordAnswers } from '../../../sidecar/push/delivery/answers.ts'
import { deferred } from '../../support/deferred.ts'
import { eventfulStatus } from '../../support/eventful-status.ts'
import { settingsOf } from '../../support/read-settings.ts'
import { register, temporaryStores } from '../store/sqlite/temporary-stores.ts'

describe('The operator port with a real store', () => {
  const stores = temporaryStores()
  let store: Store
  let port: HttpListener
  let upstream: UpstreamState
  let problems: readonly Obstacle[]
  let android: GatewayStatus
  let lastPacketAt: number | undefined
  afterEach(() => port.close())

  async function open() {
    const { clock } = stores
    store = await stores.open()
    problems = []
    lastPacketAt = undefined
    android = { ...recordAnswers(clock).read(), platform: 'android', tokensDoubted: false, waiting: 0 }
    upstream = { ...eventfulStatus().upstream, ready: true, connections: [] }
    const parts = {
      metrics: createMetrics(),
      recent: rememberEvents(createLog('silent'), clock),
      lastPacketAt: () => lastPacketAt,
    }
    port = await openOperatorPort({
      ...parts,
      settings: settingsOf({ aprsis: { callsign: 'N0CALL-10' }, admin: { port: 0 } }),
      store,
      upstream: () => upstream,
      problems: () => problems,
      gateways: () => [android],
      sendTests: async () => [],
      pushesUnderWay: () => 0,
      certificateExpiresAt: () => undefined,
      backups: { make: async () => ({ kind: 'off' }), lastMadeAt: () => undefined },
      clock,
    })
    return parts
  }
  const text = async (path: string) => {
    const answer = await fetch(port.url + path)
    return (await answer.text()).replaceAll(/<style>.*?<\/style>|<[^>]*>/gs, ' ').replaceAll(/\s+/g, ' ')
  }

  it("the status page shows the sidecar's state at the time of the request", async () => {
    const { metrics, recent } = await open()
    await register(store, 'N1CALL', 'N2CALL')
    metrics.count('messages_stored', 5)
    lastPacketAt = stores.clock.now()
    recent.log.warn('upstream-down', 'The connection to APRS-IS failed.')
    await stores.clock.advance(90_000)
    const page = await text('/')
    const parts = ['Ready', 'N0CALL-10', 'up for 1 min 30 s', '2 of 5,000', 'stored 5', 'last packet 1 min 30 s ago']
    for (const part of [...parts, '0 iOS (push off)', 'upstream-down']) expect(page).to.include(part)
    expect(page).to.match(/Database \d+\.\d kB/)
    upstream = { ...upstream, connected: false }
    expect(await text('/'))
      .to.include('Not ready')
      .and.include('upstream_not_connected')
  })

  const reasons = async () => {
    const answer = await fetch(`${port.url}/readyz`)
    const { reasons: input = [] } = (await answer.json()) as { reasons?: string[] }
    expect(answer.status).to.equal(input.length === 0 ? 200 : 503)
    return input
  }
  const idle = { connected: false, verified: false, ready: false, listener: null, listeners: { held: 1, wanted: 2 } }
  const refusing = { state: 'refusing', credentialsRefused: true } as const
  const UNREADY: readonly (readonly [string, string, () => unknown])[] = [
    ['messages cannot be stored', 'messages_not_stored', () => (store.fault = () => 'disk_full')],
    ['the filter omits stations', 'stations_left_out', () => (upstream = { ...upstream, leftOut: 1 })],
    ['another part has a problem', 'upstream_no_call', () => (problems = ['upstream_no_call'])],
    ['an APRS-IS listener is missing', 'upstream_listener_missing', () => (upstream = { ...upstream, ...idle })],
    [
      'a gateway reports every token as dead',
      'push_tokens_doubted',
      () => (android = { ...android, tokensDoubted: true }),
    ],
    ['a gateway refuses the credentials', 'push_credentials_refused', () => (android = { ...android, ...refusing })],
  ]
  // Shows: sidecar C1.24, C12.1, C13.4, O1.1, O1.2, O1.3.
  for (const [caseName, reason, happens] of UNREADY)
    it(`/readyz reports not ready if ${caseName}`, async () => {
      await open()
      expect(await reasons()).to.deep.equal([])
      happens()
      expect(await reasons()).to.deep.equal([reason])
      expect(await text('/'))
        .to.include('✗ Not ready.')
        .and.include(reason)
    })

  it('/readyz reports ready while other instances listen, and after a refused push', async () => {
    await open()
    upstream = { ...upstream, ...idle, listeners: { held: 2, wanted: 2 } }
    android = { ...android, state: 'refusing', lastRefused: { at: stores.clock.now(), reason: 'no payload' } }
    expect(await reasons()).to.deep.equal([])
    expect(await text('/')).to.include('✗ Pushes are refused.')
  })

  it('/readyz tries to write if the disk is almost full, even without messages', async () => {
    await open()
    store.housekeeping.freeBytes = async () => 100_000
    store.probe = async () => {
      store.fault = () => 'disk_full'
    }
    expect(await reasons()).to.deep.equal(['messages_not_stored'])
    store.housekeeping.freeBytes = async () => 1_000_000_000
    store.fault = () => undefined
    expect(await reasons()).to.deep.equal([])
  })

  // Shows: sidecar C12.1.
  it('/metrics shows stations, database size, free disk space and event loop lag', async () => {
    await open()
    await register(store, 'N1CALL')
    const lines = (await (await fetch(`${port.url}/metrics`)).text()).split('\n')
    expect(lines).to.include.members(['mesh_companion_stations_android 1', 'mesh_companion_stations_max 5000'])
    const gauge = (name: string) =>
      Number(lines.find((line) => line.startsWith(`mesh_companion_${name} `))?.split(' ')[1])
    expect(gauge('database_bytes')).to.be.above(4096)
    expect(gauge('event_loop_lag_seconds')).to.be.at.least(0)
    expect(gauge('disk_free_bytes')).to.be.above(0)
    expect(gauge('certificate_expiry_timestamp_seconds')).to.be.NaN
  })

  it("the status page omits the database's size if the database does not answer", async () => {
    const held = deferred()
    await open()
    store.housekeeping.sizeBytes = () => {
      held.resolve()
      return new Promise(() => {})
    }
    const page = text('/')
    await held.promise
    await stores.clock.advance(1000)
    expect(await page).to.include('Database unknown')
  })

  it('closing the operator port stops its timer', async () => {
    await open()
    const pending = stores.clock.pending
    await port.close()
    expect(stores.clock.pending).to.equal(pending - 1)
  })
})
