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
import { watchTraffic } from '../../../sidecar/operator/watch/traffic.ts'
import type { FakeClock } from '../../support/fake-clock.ts'
import { settingsOf } from '../../support/settings-of.ts'
import { register, registration, temporaryStores } from '../store/sqlite/temporary-stores.ts'

describe("the operator's port over a real store", () => {
  const stores = temporaryStores()
  let clock: FakeClock
  let store: Store
  let port: HttpListener
  let upstream: UpstreamState
  let problems: readonly Obstacle[]
  let fault: string | undefined
  let freeBytes: number | undefined
  let probe: () => Promise<void>
  let android: GatewayStatus
  afterEach(() => port.close())

  async function open(sizeBytes?: () => Promise<number>) {
    clock = stores.clock
    store = await stores.open()
    problems = []
    fault = undefined
    freeBytes = undefined
    probe = async () => {}
    android = {
      platform: 'android',
      state: 'unused',
      credentialsRefused: false,
      lastAcceptedAt: undefined,
      lastRefused: undefined,
      lastFailed: undefined,
      waiting: 0,
    }
    upstream = {
      connected: true,
      verified: true,
      ready: true,
      paused: false,
      leftOut: 0,
      connections: [],
      listener: 0,
      listeners: { held: 1, wanted: 1 },
      others: [],
    }
    const parts = {
      metrics: createMetrics(),
      recent: rememberEvents(createLog('silent'), clock),
      traffic: watchTraffic(clock),
    }
    port = await openOperatorPort({
      ...parts,
      settings: settingsOf({ aprsis: { callsign: 'N0CALL-10' }, admin: { port: 0 } }),
      store: {
        ...store,
        fault: () => fault,
        probe: () => probe(),
        housekeeping: {
          ...store.housekeeping,
          freeBytes: async () => freeBytes ?? store.housekeeping.freeBytes(),
          ...(sizeBytes && { sizeBytes }),
        },
      },
      upstream: () => upstream,
      problems: () => problems,
      gateways: () => [android],
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

  it('shows on / what is the case when it is asked', async () => {
    const { metrics, recent, traffic } = await open()
    await register(store, 'N1CALL', 'N2CALL')
    metrics.count('messages_stored', 5)
    traffic.receiving(() => {})([])
    recent.log.warn('upstream-down', 'The connection to APRS-IS failed.')
    await clock.advance(90_000)
    const page = await text('/')
    for (const part of [
      'Ready',
      'N0CALL-10',
      'up for 1 min 30 s',
      '2 of 5,000',
      'stored 5',
      'last packet 1 min 30 s ago',
    ])
      expect(page).to.include(part)
    expect(page).to.include('0 iOS (push off)').and.include('upstream-down')
    expect(page).to.match(/Database \d+\.\d kB/)
    upstream = { ...upstream, connected: false }
    expect(await text('/'))
      .to.include('Not ready')
      .and.include('upstream_not_connected')
  })

  it('is not ready, and says why, while another part has a problem', async () => {
    await open()
    expect((await fetch(`${port.url}/readyz`)).status).to.equal(200)
    problems = ['upstream_no_call']
    const answer = await fetch(`${port.url}/readyz`)
    expect([answer.status, ((await answer.json()) as { reasons: string[] }).reasons]).to.deep.equal([503, problems])
    expect(await text('/'))
      .to.include('Not ready')
      .and.include('upstream_no_call')
  })

  it('is ready where others listen to APRS-IS, and not while fewer of them do than should', async () => {
    await open()
    const idle = { connected: false, verified: false, ready: false, listener: null }
    upstream = { ...upstream, ...idle, listeners: { held: 2, wanted: 2 } }
    expect((await fetch(`${port.url}/readyz`)).status).to.equal(200)
    upstream = { ...upstream, listeners: { held: 1, wanted: 2 } }
    const answer = await fetch(`${port.url}/readyz`)
    expect([answer.status, await answer.json()]).to.deep.equal([
      503,
      { status: 'not_ready', reasons: ['upstream_listener_missing'] },
    ])
  })

  it('is not ready while messages are not stored, stations are left out, or a gateway refuses us, and says which', async () => {
    await open()
    const reasons = async () => {
      const answer = await fetch(`${port.url}/readyz`)
      const { reasons: given = [] } = (await answer.json()) as { reasons?: string[] }
      expect(answer.status).to.equal(given.length === 0 ? 200 : 503)
      return given
    }
    expect(await reasons()).to.deep.equal([])
    fault = 'disk_full'
    expect(await reasons()).to.deep.equal(['messages_not_stored'])
    fault = undefined
    upstream = { ...upstream, leftOut: 1 }
    expect(await reasons()).to.deep.equal(['stations_left_out'])
    upstream = { ...upstream, leftOut: 0 }
    const lastRefused = { at: clock.now(), reason: 'InvalidProviderToken: the key was revoked' }
    android = { ...android, state: 'refusing', credentialsRefused: true, lastRefused }
    expect(await reasons()).to.deep.equal(['push_credentials_refused'])
    expect(await text('/'))
      .to.include('✗ Not ready.')
      .and.include('refuses notifications')
      .and.include('key was revoked')
    android = { ...android, credentialsRefused: false }
    expect(await reasons()).to.deep.equal([])
    expect(await text('/')).to.include('✗ Pushes are refused.')
  })

  it('tries to write when the disk has hardly any room, though no message came: nobody else would know', async () => {
    await open()
    freeBytes = 100_000
    probe = async () => {
      fault = 'disk_full'
    }
    expect((await fetch(`${port.url}/readyz`)).status).to.equal(503)
    freeBytes = 1_000_000_000
    fault = undefined
    expect((await fetch(`${port.url}/readyz`)).status).to.equal(200)
  })

  it('shows on /metrics the registry, the file and the event loop', async () => {
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

  it('counts each station once on /metrics, and each of its devices', async () => {
    await open()
    await register(store, 'N1CALL')
    const second = registration('N1CALL', { deviceId: 'tablet', platform: 'ios', pushToken: 'ab' })
    await store.stations.register(second)
    const lines = (await (await fetch(`${port.url}/metrics`)).text()).split('\n')
    expect(lines.filter((line) => /^mesh_companion_(?:stations|devices)\{/.test(line))).to.deep.equal(
      ['stations{platform="android"} 1', 'stations{platform="ios"} 0', 'stations{platform="webpush"} 0']
        .concat('devices{platform="android"} 1', 'devices{platform="ios"} 1', 'devices{platform="webpush"} 0')
        .map((line) => `mesh_companion_${line}`),
    )
    expect(await text('/'))
      .to.include('1 of 5,000')
      .and.include('Devices: 1 Android · 1 iOS')
  })

  it('answers without the size of a database that does not answer', async () => {
    let asked = () => {}
    const whenAsked = new Promise<void>((resolve) => {
      asked = resolve
    })
    await open(() => {
      asked()
      return new Promise(() => {})
    })
    const page = text('/')
    await whenAsked
    await clock.advance(1000)
    expect(await page).to.include('Database unknown')
  })

  it('stops its clock when it is closed', async () => {
    await open()
    const pending = clock.pending
    await port.close()
    expect(clock.pending).to.equal(pending - 1)
  })
})
