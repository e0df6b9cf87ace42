import { expect } from 'chai'
import { serveAdmin } from '../../../sidecar/admin/server.ts'
import { installGauges, upstreamObstacles } from '../../../sidecar/admin/upstream.ts'
import type { HttpListener } from '../../../sidecar/http-listener.ts'
import { createLog } from '../../../sidecar/log.ts'
import { createMetrics, type Metrics } from '../../../sidecar/metrics.ts'
import { FakeClock } from '../../support/fake-clock.ts'

describe('the operator port', () => {
  let admin: HttpListener
  let clock: FakeClock
  let alive: () => Promise<unknown>
  let upstream: { connected: boolean; ready: boolean }
  let events: unknown[]
  let metrics: Metrics

  beforeEach(async () => {
    metrics = createMetrics()
    clock = new FakeClock()
    alive = async () => {}
    upstream = { connected: true, ready: true }
    events = []
    admin = await serveAdmin({
      admin: { host: '127.0.0.1', port: 0 },
      alive: () => alive(),
      obstacles: () => upstreamObstacles(upstream),
      metrics,
      clock,
      log: createLog('debug', { write: (line) => void events.push(JSON.parse(line).event) }),
    })
  })
  afterEach(() => admin.close())

  const get = (path: string, method = 'GET') => fetch(admin.url + path, { method })

  it('says on /healthz that the process works while the database answers', async () => {
    const answer = await get('/healthz')
    expect([answer.status, await answer.json()]).to.deep.equal([200, { status: 'ok' }])
    alive = () => Promise.reject(new Error('SQLITE_IOERR in /secret/path'))
    const failing = await get('/healthz')
    expect([failing.status, await failing.json()]).to.deep.equal([
      503,
      { status: 'failing', reasons: ['database_unavailable'] },
    ])
    expect(events).to.deep.equal(['unhealthy'])
  })

  it('does not wait for ever for the database', async () => {
    const asked = new Promise<void>((resolve) => {
      alive = () => {
        resolve()
        return new Promise(() => {})
      }
    })
    const answer = get('/healthz')
    await asked
    await clock.advance(2000)
    expect((await answer).status).to.equal(503)
  })

  it('says on /readyz what is missing', async () => {
    expect((await get('/readyz')).status).to.equal(200)
    upstream.ready = false
    const unconfirmed = await get('/readyz')
    expect([unconfirmed.status, await unconfirmed.json()]).to.deep.equal([
      503,
      { status: 'not_ready', reasons: ['upstream_filter_unconfirmed'] },
    ])
    upstream.connected = false
    expect(await (await get('/readyz')).json()).to.deep.include({ reasons: ['upstream_not_connected'] })
  })

  it('shows counters and gauges on /metrics for Prometheus', async () => {
    installGauges(metrics, {
      upstream: () => ({ ...upstream, verified: false, paused: false, leftOut: 3, connections: [1, 2] }),
      stations: () => ({ android: 5, ios: 7 }),
    })
    metrics.count('messages_stored', 4)
    const answer = await get('/metrics')
    expect(answer.headers.get('content-type')).to.match(/^text\/plain; version=0\.0\.4/)
    const lines = (await answer.text()).split('\n')
    expect(lines).to.include.members([
      'mesh_companion_messages_stored_total 4',
      'mesh_companion_stations_android 5',
      'mesh_companion_stations_ios 7',
      'mesh_companion_stations_left_out 3',
      'mesh_companion_upstream_connections 2',
      'mesh_companion_upstream_connected 1',
      'mesh_companion_upstream_verified 0',
    ])
  })

  it('is for GET and HEAD', async () => {
    const head = await get('/readyz', 'HEAD')
    expect([head.status, await head.text()]).to.deep.equal([200, ''])
    for (const method of ['POST', 'DELETE', 'OPTIONS']) {
      const answer = await get('/healthz', method)
      expect([answer.status, answer.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD'])
    }
  })

  it('has nothing else', async () => {
    for (const path of ['/v1/sync', '/metrics/', '/etc/passwd']) expect((await get(path)).status).to.equal(404)
  })

  it('tells only the log why a page could not be made', async () => {
    metrics.gauge('broken', 'A gauge that cannot be read', () => {
      throw new Error('secret')
    })
    const answer = await get('/metrics')
    expect([answer.status, (await answer.text()).includes('secret')]).to.deep.equal([500, false])
    expect(events).to.deep.equal(['admin-failed'])
  })

  it('warns when other machines can reach it', async () => {
    const warned: unknown[] = []
    const log = createLog('warn', { write: (line) => void warned.push(JSON.parse(line).event) })
    const parts = { alive, obstacles: () => [], metrics, clock, log }
    const open = await serveAdmin({ admin: { host: '0.0.0.0', port: 0 }, ...parts })
    await open.close()
    expect(warned).to.deep.equal(['admin-not-local'])
    expect(open.url).to.match(/^http:\/\/127\.0\.0\.1:\d+$/)
  })
})
