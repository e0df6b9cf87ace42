import { request } from 'node:http'
import { expect } from 'chai'
import type { HttpListener } from '../../../sidecar/api/http-listener.ts'
import { createMetrics, type Metrics } from '../../../sidecar/metrics.ts'
import { installGauges } from '../../../sidecar/operator/gauges.ts'
import type { BackupOutcome } from '../../../sidecar/operator/housekeeping/backups.ts'
import { recordAnswers } from '../../../sidecar/push/delivery/answers.ts'
import { deferred } from '../../support/deferred.ts'
import { eventfulStatus } from '../../support/eventful-status.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { serveOperatorPort } from '../../support/operator-port.ts'
import { recordedLog } from '../../support/recorded-log.ts'

describe('The operator port', () => {
  const { log, shown } = recordedLog()
  let admin: HttpListener
  let clock: FakeClock
  let alive: () => Promise<unknown>
  let answers: () => Promise<unknown>
  let backUp: () => Promise<BackupOutcome>
  let unregistered: string[]
  let metrics: Metrics

  beforeEach(async () => {
    metrics = createMetrics()
    clock = new FakeClock()
    alive = async () => {}
    answers = async () => {}
    backUp = async () => ({ kind: 'off' })
    unregistered = []
    admin = await serveOperatorPort({
      checkAlive: () => alive(),
      checkReads: () => answers(),
      obstacles: async () => ['upstream_not_connected', 'messages_not_stored', 'push_credentials_refused'],
      statusPage: async (refresh) => `<p>refresh: ${refresh}</p>`,
      backUp: () => backUp(),
      unregister,
      metrics,
      clock,
      log,
    })
  })
  afterEach(() => admin.close())

  const unregister = async (station: string) => {
    unregistered.push(station)
    return station === 'N0CALL-7'
  }
  const get = (path: string, method = 'GET') => fetch(admin.url + path, { method })
  const answerTo = async (path: string, method?: string) => {
    const answer = await get(path, method)
    return [answer.status, (await answer.json()) as unknown] as const
  }

  // Shows: sidecar C1.24, C12.1.
  it('/healthz answers 200 while the database answers, otherwise 503 without details', async () => {
    expect(await answerTo('/healthz')).to.deep.equal([200, { status: 'ok' }])
    alive = () => Promise.reject(new Error('SQLITE_IOERR in /secret/path'))
    expect(await answerTo('/healthz')).to.deep.equal([503, { status: 'failing', reasons: ['database_unavailable'] }])
    expect(shown('event')).to.deep.equal(['unhealthy'])
  })

  it('/readyz/api answers ready while messages can be read, even if other parts fail', async () => {
    expect((await get('/readyz')).status).to.equal(503)
    expect((await get('/readyz/api')).status).to.equal(200)
    const unread = [503, { status: 'not_ready', reasons: ['messages_not_read'] }]
    answers = () => Promise.reject(new Error('no such table'))
    expect(await answerTo('/readyz/api')).to.deep.equal(unread)
  })

  for (const [path, waitsMs] of Object.entries({ '/healthz': 2000, '/readyz/api': 2500 }))
    it(`${path} answers 503 after ${waitsMs} ms if the database does not answer`, async () => {
      const held = deferred()
      const hang = () => {
        held.resolve()
        return new Promise(() => {})
      }
      alive = hang
      answers = hang
      const answer = get(path)
      await held.promise
      await clock.advance(waitsMs)
      expect((await answer).status).to.equal(503)
    })

  const statusFor = (host: string, path = '/metrics', method = 'GET') =>
    new Promise<number | undefined>((resolve, reject) => {
      const sent = request(admin.url + path, { method, headers: { host } }, (answer) => {
        answer.resume()
        resolve(answer.statusCode)
      })
      sent.on('error', reject).end()
    })

  // Shows: sidecar C13.16.
  it('the operator port refuses foreign Host headers, which prevents DNS rebinding', async () => {
    expect(await statusFor('localhost:9090')).to.equal(200)
    for (const host of ['attacker.example', 'attacker.example:9090']) {
      for (const path of ['/', '/healthz', '/readyz/api', '/metrics'])
        expect(await statusFor(host, path), host).to.equal(421)
      for (const path of ['/backup', '/unregister']) expect(await statusFor(host, path, 'POST'), host).to.equal(421)
    }
    expect(unregistered).to.deep.equal([])
  })

  // Shows: sidecar C1.24, C12.1.
  it('/metrics exports counters and gauges for Prometheus', async () => {
    const { upstream } = eventfulStatus()
    const unused = { ...recordAnswers(clock).read(), tokensDoubted: false }
    installGauges(metrics, {
      upstream: () => ({ ...upstream, verified: false, leftOut: 2, listeners: { held: 1, wanted: 2 } }),
      stations: () => ({ android: 5, ios: 7, webpush: 3 }),
      devices: () => ({ android: 6, ios: 9, webpush: 3 }),
      maxStations: 5000,
      databaseBytes: async () => 4096,
      instances: async () => 3,
      diskFreeBytes: async () => 8192,
      pushesUnderWay: () => 2,
      obstacles: () => ['stations_left_out'],
      gateways: () => [
        { ...unused, platform: 'android', state: 'working', lastAcceptedAt: 1_500, waiting: 0 },
        { ...unused, platform: 'ios', state: 'refusing', waiting: 3 },
      ],
      certificateExpiresAt: () => 1_800_000_000_000,
    })
    metrics.count('messages_stored', 4)
    const answer = await get('/metrics')
    expect(answer.headers.get('content-type')).to.match(/^text\/plain; version=0\.0\.4/)
    const lines = (await answer.text()).split('\n')
    expect(lines).to.include.members([
      'mesh_companion_messages_stored_total 4',
      'mesh_companion_stations{platform="android"} 5',
      'mesh_companion_stations{platform="ios"} 7',
      'mesh_companion_devices{platform="ios"} 9',
      'mesh_companion_instances 3',
      'mesh_companion_stations{platform="webpush"} 3',
      'mesh_companion_stations_left_out 2',
      'mesh_companion_upstream_connections 3',
      'mesh_companion_upstream_filter_bytes 23433',
      'mesh_companion_stations_max 5000',
      'mesh_companion_database_bytes 4096',
      'mesh_companion_pushes_under_way 2',
      'mesh_companion_upstream_connected 1',
      'mesh_companion_listener 1',
      'mesh_companion_listeners 1',
      'mesh_companion_listeners_wanted 2',
      'mesh_companion_upstream_verified 0',
      'mesh_companion_not_ready{reason="stations_left_out"} 1',
      'mesh_companion_not_ready{reason="messages_not_stored"} 0',
      'mesh_companion_push_gateway_refusing{platform="android"} 0',
      'mesh_companion_push_gateway_refusing{platform="ios"} 1',
      'mesh_companion_pushes_waiting{platform="ios"} 3',
      'mesh_companion_push_last_accepted_timestamp_seconds{platform="android"} 1.5',
      'mesh_companion_disk_free_bytes 8192',
      'mesh_companion_certificate_expiry_timestamp_seconds 1800000000',
    ])
    expect(lines.join('\n')).to.not.include('push_last_accepted_timestamp_seconds{platform="ios"}')
  })

  // Shows: sidecar C12.2.
  it('/metrics has a help text for every counter and gauge', async () => {
    const text = await (await get('/metrics')).text()
    const named = [...text.matchAll(/^# TYPE (\S+)/gm)]
    expect(named.length).to.be.above(20)
    for (const [, name] of named) expect(text).to.match(new RegExp(`^# HELP ${name} .{8}`, 'm'))
  })

  // Shows: sidecar C12.6.
  it("the status page's policy allows only its own style and script", async () => {
    const answer = await get('/')
    expect(answer.status).to.equal(200)
    expect(await answer.text()).to.equal('<p>refresh: true</p>')
    expect(answer.headers.get('content-type')).to.equal('text/html; charset=utf-8')
    expect(answer.headers.get('cross-origin-resource-policy')).to.equal('same-origin')
    expect(answer.headers.get('content-security-policy')).to.match(
      /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; script-src 'sha256-[\w+/]{43}='; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
    )
    expect(await (await get('/?refresh=off')).text()).to.equal('<p>refresh: false</p>')
    expect(await (await get('/?refresh=<script>')).text()).to.equal('<p>refresh: true</p>')
  })

  it('/healthz allows only GET and HEAD', async () => {
    const head = await get('/healthz', 'HEAD')
    expect(head.status).to.equal(200)
    expect(await head.text()).to.equal('')
    for (const method of ['POST', 'DELETE', 'OPTIONS']) {
      const answer = await get('/healthz', method)
      expect(answer.status).to.equal(405)
      expect(answer.headers.get('allow')).to.equal('GET, HEAD')
    }
  })

  // Shows: sidecar O1.13.
  it("POST /backup returns the backup's name and size, or the reason why there is none", async () => {
    const failure = { error: 'backup_failed', message: 'No space.', code: 'disk_full' }
    for (const [outcome, ...expected] of [
      [{ kind: 'made', file: 'a.sqlite', bytes: 4096 }, 200, { file: 'a.sqlite', bytes: 4096 }],
      [{ kind: 'off' }, 409, { error: 'backup_off', message: 'Backups are off. Set backup.folder to a folder.' }],
      [{ kind: 'busy' }, 409, { error: 'backup_busy', message: 'A backup is running. Try again when it is done.' }],
      [{ kind: 'failed', code: 'disk_full', message: 'No space.' }, 500, failure],
    ] as const) {
      backUp = async () => outcome
      expect(await answerTo('/backup', 'POST')).to.deep.equal(expected)
    }
  })

  for (const [body, status, answer] of [
    ['{ "station": "N0CALL-7" }', 200, { station: 'N0CALL-7' }],
    ['{ "station": "n0call-7", "more": 1 }', 200, { station: 'N0CALL-7' }],
    ['{ "station": "N1CALL" }', 404, { error: 'not_registered' }],
    ['{ "station": "N0 CALL" }', 400, { error: 'invalid_request' }],
    ['{ "station": 7 }', 400, { error: 'invalid_request' }],
    ['station=N0CALL-7', 400, { error: 'invalid_request' }],
    ['null', 400, { error: 'invalid_request' }],
    ['', 400, { error: 'invalid_request' }],
    [`{ "station": "N0CALL-7", "more": "${'x'.repeat(70_000)}" }`, 400, { error: 'invalid_request' }],
  ] as const) {
    it(`POST /unregister with body ${body.slice(0, 40)} returns ${status}`, async () => {
      const response = await fetch(`${admin.url}/unregister`, { method: 'POST', body })
      expect(await response.json()).to.include(answer)
      expect(response.status).to.equal(status)
      expect(unregistered).to.deep.equal(status === 400 ? [] : [status === 200 ? 'N0CALL-7' : 'N1CALL'])
    })
  }

  // Shows: sidecar C16.8.
  it('refuses GET and cross-origin requests to /backup and /unregister', async () => {
    let requestCount = 0
    backUp = async () => {
      requestCount += 1
      return { kind: 'off' }
    }
    for (const path of ['/backup', '/unregister']) {
      const got = await get(path)
      expect(got.status).to.equal(405)
      expect(got.headers.get('allow')).to.equal('POST')
      for (const Origin of ['https://evil.example', 'null', admin.url]) {
        const body = '{ "station": "N0CALL-7" }'
        expect((await fetch(admin.url + path, { method: 'POST', headers: { Origin }, body })).status).to.equal(403)
      }
    }
    expect(requestCount).to.equal(0)
    expect(unregistered).to.deep.equal([])
  })

  it('the operator port answers 404 for paths that it does not serve', async () => {
    for (const path of ['/v1/sync', '/metrics/', '/etc/passwd']) expect((await get(path)).status).to.equal(404)
  })

  it('a 500 from the operator port gives no reason; a log line reports the failure', async () => {
    metrics.gauge('broken', 'A gauge that cannot be read', () => {
      throw new Error('secret')
    })
    const answer = await get('/metrics')
    expect(answer.status).to.equal(500)
    expect((await answer.text()).includes('secret')).to.equal(false)
    expect(shown('event')).to.deep.equal(['admin-failed'])
  })

  // Shows: sidecar C1.27.
  it('warns if other machines can reach the operator port', async () => {
    const open = await serveOperatorPort({ admin: { host: '0.0.0.0', port: 0 }, log })
    await open.close()
    expect(shown('level', 'event')).to.deep.equal([['warn', 'admin-not-local']])
    expect(open.url).to.match(/^http:\/\/127\.0\.0\.1:\d+$/)
  })
})
