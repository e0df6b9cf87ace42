import { once } from 'node:events'
import { copyFile } from 'node:fs/promises'
import { get } from 'node:https'
import { connect } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { type ApiOptions, claim, type RunningApi, registration, startApi } from '../../support/running-api.ts'
import { makeServerFiles } from '../../support/server-files.ts'
import { append, message } from '../store/sqlite/temporary-stores.ts'

const unknown = JSON.stringify({ ...claim('N0CALL'), since: 0 })
const requestText = (body: string, ...headers: readonly string[]) =>
  ['POST /v1/sync HTTP/1.1', 'Host: x', 'Content-Type: application/json', ...headers, '', body].join('\r\n')
const syncText = requestText(unknown, `Content-Length: ${unknown.length}`)
/** Returns the same request with `Connection: close`. */
const lastSync = (...headers: readonly string[]) =>
  requestText(unknown, `Content-Length: ${unknown.length}`, ...headers, 'Connection: close')
const lastRegister = (callsign: string, ...headers: readonly string[]) => {
  const body = JSON.stringify(registration(callsign))
  const text = requestText(body, `Content-Length: ${body.length}`, ...headers, 'Connection: close')
  return text.replace('/v1/sync', '/v1/register')
}

describe('The API over HTTP', () => {
  let api: RunningApi
  beforeEach(async () => {
    api = await startApi()
  })
  afterEach(() => api.close())

  // Shows: sidecar 22.1, C1.24, C3.5.
  it('the API answers not_found for unknown paths', async () => {
    const strangers = ['/', '/sync', '/v2/sync', '/v1/register/', '/v1/SYNC', '/metrics', '/healthz', '//v1/sync']
    for (const path of [...strangers, '/v1/sync/../sync']) {
      const { status, body } = await api.post(path, {})
      expect(path).to.deep.equal(path)
      expect(status).to.equal(404)
      expect(body.error).to.equal('not_found')
    }
  })

  // Shows: sidecar C10.7.
  it('the API accepts an absolute URL in the request line, as proxies may send it', async () => {
    const asking = (address: string) => api.raw(lastSync().replace('/v1/sync', address))
    expect(await asking('http://push.example.org/v1/sync?x=1')).to.match(/"not_registered"/)
    expect(await asking('http://push.example.org')).to.match(/"not_found"/)
  })

  // Shows: sidecar 10.1, C3.6, C10.6.
  it('the API answers method_not_allowed with Allow: POST to other methods', async () => {
    for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
      const answer = await fetch(`${api.api.url}/v1/sync`, { method })
      expect(answer.status).to.equal(405)
      expect(answer.headers.get('allow')).to.equal('POST')
      expect(await answer.json()).to.include({ error: 'method_not_allowed' })
    }
    expect((await fetch(`${api.api.url}/nothing`)).status).to.equal(404)
  })

  const JSON_TYPES = ['', '; charset=utf-8', ' ; foo=bar'].map((more) => `application/json${more}`)
  // Shows: sidecar 2.19, 10.2.
  for (const type of [...JSON_TYPES, 'Application/JSON;charset="UTF-8"'])
    it(`accepts a request body of type ${type}`, async () => {
      expect((await api.post('/v1/sync', unknown, { 'Content-Type': type })).status).to.equal(404)
    })

  const OTHER_TYPES = ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx', '']
  // Shows: sidecar 10.2, C3.8.
  for (const type of [...OTHER_TYPES, 'application/json; charset=utf-16'])
    it(`refuses a request body of type "${type}"`, async () => {
      const { status, body } = await api.post('/v1/sync', unknown, { 'Content-Type': type })
      expect(status).to.equal(415)
      expect(body.error).to.equal('unsupported_media_type')
    })

  // Shows: sidecar C3.8.
  it('refuses a compressed request body', async () => {
    expect((await api.post('/v1/sync', unknown, { 'Content-Encoding': 'gzip' })).status).to.equal(415)
  })

  for (const text of ['', '{', 'nope', '{"a":1}x', Buffer.from('{"a":"\xff"}', 'latin1')]) {
    // Shows: sidecar 2.19.
    it(`answers the body ${JSON.stringify(String(text))} with invalid_request`, async () => {
      const { status, body } = await api.post('/v1/sync', text)
      expect(status).to.equal(400)
      expect(body.error).to.equal('invalid_request')
      expect(body.details[0]?.path).to.equal('$')
    })
  }

  // Shows: sidecar C3.7, C10.2.
  it('accepts a body of 64 KiB and refuses larger ones, with or without Content-Length', async () => {
    const body = JSON.stringify({ ...claim('N0CALL'), since: 0, filler: '' })
    const bodyOf = (size: number) => body.replace('""', `"${'x'.repeat(size - body.length)}"`)
    for (const headers of [undefined, { 'Transfer-Encoding': 'chunked' }]) {
      expect((await api.post('/v1/sync', bodyOf(65_536), headers)).status).to.equal(404)
      const { status, body: answer } = await api.post('/v1/sync', bodyOf(65_537), headers)
      expect(status).to.equal(413)
      expect(answer.error).to.equal('too_large')
    }
  })

  it('a client that sends a chunked body of 7 MB can read the answer 413', async () => {
    const large = Buffer.alloc(7_000_000, 0x20)
    const { status, body } = await api.post('/v1/sync', large, { 'Transfer-Encoding': 'chunked' })
    expect(status).to.equal(413)
    expect(body.error).to.equal('too_large')
  })

  // Shows: sidecar C10.2.
  it('refuses a body with an enormous Content-Length without reading it', async () => {
    const answer = await api.raw(requestText('x'.repeat(1000), 'Content-Length: 99999999999'))
    expect(answer)
      .to.match(/^HTTP\/1.1 413 /)
      .and.match(/Connection: close/i)
      .and.include('"too_large"')
  })

  it('answers 100-continue before the body, or 413 if Content-Length is too large', async () => {
    const asking = (size: number) =>
      requestText('', `Content-Length: ${size}`, 'Expect: 100-continue', 'Connection: close')
    const socket = connect(api.port, '127.0.0.1')
    socket.write(asking(unknown.length))
    const [first] = await once(socket, 'data')
    expect(String(first)).to.equal('HTTP/1.1 100 Continue\r\n\r\n')
    socket.write(unknown)
    const [second] = await once(socket, 'data')
    expect(String(second)).to.match(/^HTTP\/1.1 404 /)
    socket.destroy()
    expect(await api.raw(asking(65_537))).to.match(/^HTTP\/1.1 413 /)
  })

  for (const [name, text, status = 400, error = 'invalid_request'] of [
    ['is not HTTP', 'hello\r\n\r\n'],
    ['has no Host', 'POST /v1/sync HTTP/1.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'],
    ['has two lengths', requestText('', 'Content-Length: 1', 'Content-Length: 2')],
    ['has a length and chunks', requestText('', 'Content-Length: 1', 'Transfer-Encoding: chunked')],
    ['has a broken chunk', requestText('zz\r\n', 'Transfer-Encoding: chunked')],
    ['has headers that are too large', requestText('', `X: ${'x'.repeat(20_000)}`), 413, 'too_large'],
  ] as const) {
    // Shows: sidecar C3.1, C10.5.
    it(`a request that ${name} gets a JSON error`, async () => {
      const answer = await api.raw(text)
      expect(answer).to.match(new RegExp(`^HTTP/1.1 ${status} `))
      expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).to.include({ error })
    })
  }

  // Shows: sidecar C10.5.
  it('the API does not answer 400 to garbage that follows an unfinished request', async () => {
    // The client would take an answer to the garbage for the answer to its request.
    const answer = await api.raw(`${syncText}nonsense\r\n\r\n`)
    expect(answer).to.not.include('400')
  })

  // Shows: sidecar C10.4.
  it('the API serves several requests on one connection', async () => {
    const answer = await api.raw(syncText + syncText + requestText('{}', 'Content-Length: 2', 'Connection: close'))
    expect(answer.match(/HTTP\/1.1 \d+/g)).to.deep.equal(['HTTP/1.1 404', 'HTTP/1.1 404', 'HTTP/1.1 400'])
  })

  it('the API keeps serving after a client disconnects in the middle of its body', async () => {
    const socket = connect(api.port, '127.0.0.1')
    socket.write(requestText('{"half', 'Content-Length: 100'))
    await once(socket, 'connect')
    socket.destroy()
    expect((await api.post('/v1/sync', unknown)).status).to.equal(404)
    expect(api.logged.filter(({ level }) => level === 'error')).to.deep.equal([])
  })

  it('all answers of the API forbid caching and content type sniffing', async () => {
    const { headers } = await api.post('/v1/sync', unknown)
    expect(headers).to.include({
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    })
    expect(headers).to.not.have.property('x-powered-by')
  })

  describe('The compression of answers', () => {
    /** A sync answer of exactly `size` bytes. */
    async function answerOf(size: number, acceptEncoding: string) {
      await api.post('/v1/register', registration('N0CALL'))
      const send = (text: string) => append(api.store, message(text, { to: 'N0CALL-7', seqId: '' }))
      await send('x')
      const ask = (since: number, headers = {}) => api.post('/v1/sync', { ...claim('N0CALL'), since }, headers)
      const small = await ask(0)
      await send('y'.repeat(size - small.bytes.length + 1))
      return ask(Number(small.body.messages[0]?.time), { 'Accept-Encoding': acceptEncoding })
    }

    // Shows: sidecar 2.17, 10.4, 21.8.
    it('compresses answers of 860 bytes or more', async () => {
      const { bytes, headers } = await answerOf(860, 'gzip')
      expect(headers).to.include({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' })
      expect(gunzipSync(bytes)).to.have.length(860)
      expect(Number(headers['content-length'])).to.equal(bytes.length)
    })

    // Shows: sidecar 10.4, 21.8.
    it('does not compress answers below 860 bytes', async () => {
      const { bytes, headers } = await answerOf(859, 'gzip')
      expect(bytes).to.have.length(859)
      expect(headers).to.not.have.any.keys('content-encoding', 'vary')
    })

    // Shows: sidecar 10.4.
    it('does not compress answers to a client that does not accept gzip', async () => {
      const { bytes, headers } = await answerOf(2000, 'gzip;q=0')
      expect(bytes).to.have.length(2000)
      expect(headers).to.include({ vary: 'Accept-Encoding' }).and.not.have.property('content-encoding')
    })
  })

  it('the API server closes even if a client keeps a request open', async () => {
    const socket = connect(api.port, '127.0.0.1')
    // Node.js 26 resets the connection instead of ending it.
    socket.on('error', () => {})
    socket.write(requestText('{', 'Content-Length: 100'))
    await once(socket, 'connect')
    const ended = new Promise((resolve) => socket.once('close', resolve))
    await Promise.all([api.api.close(), api.api.close()])
    await ended
  })
})

describe('The rate limit of the API', () => {
  let api: RunningApi
  const start = async (options: ApiOptions) => {
    api = await startApi(options)
  }
  afterEach(() => api.close())

  // Shows: sidecar 20.2, 21.9, C3.11, C11.8.
  it('a client over the rate limit gets no answer until the rate limit window ends', async () => {
    await start({ rateLimit: { max: 2, windowMs: 60_000 } })
    expect((await api.post('/v1/sync', unknown)).status).to.equal(404)
    expect((await api.post('/v1/sync', unknown)).status).to.equal(404)
    expect(await api.raw(syncText)).to.equal('')
    expect(await api.raw(syncText)).to.equal('')
    expect(api.metrics.value('api_dropped')).to.equal(2)
    await api.clock.advance(59_999)
    // A change of the clock does not end the window.
    api.clock.set(api.clock.now() + 86_400_000)
    expect(await api.raw(syncText)).to.equal('')
    api.clock.set(1000)
    await api.clock.advance(1)
    expect((await api.post('/v1/sync', unknown)).status).to.equal(404)
  })

  // Shows: sidecar C3.14.
  it('every failed request counts towards the rate limit, regardless of the reason', async () => {
    await start({ rateLimit: { max: 6 } })
    const statuses = [
      (await fetch(`${api.api.url}/v1/sync`)).status,
      (await api.post('/nothing', {})).status,
      (await api.post('/v1/sync', '{')).status,
      (await api.post('/v1/sync', { ...claim('N0CALL'), auth: 1, since: 0 })).status,
      (await api.post('/v1/sync', 'x'.repeat(70_000))).status,
    ]
    expect(statuses).to.deep.equal([405, 404, 400, 403, 413])
    expect(await api.raw('nonsense\r\n\r\n')).to.match(/ 400 /)
    expect(await api.raw('nonsense\r\n\r\n')).to.equal('')
    expect(await api.raw(requestText('', 'Content-Length: 5', 'Expect: 100-continue'))).to.equal('')
  })

  const from = (client: string) => api.raw(lastSync(`X-Forwarded-For: ${client}`))

  // Shows: sidecar C1.23, C3.12, C3.13.
  it('behind a trusted proxy, the rate limit applies to each client separately', async () => {
    await start({ rateLimit: { max: 1 }, listen: { trustProxy: ['127.0.0.0/8'] } })
    expect(await from('198.51.100.1')).to.match(/ 404 /)
    const refused = 'HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\nContent-Length: 0\r\n'
    expect((await from('198.51.100.1')).replace(/^Date:.*\r\n/m, '')).to.equal(`${refused}\r\n`)
    expect(await from('2001:db8::1')).to.match(/ 404 /)
    expect(await api.raw('nonsense\r\n\r\n')).to.match(/ 400 /)
    expect(await api.raw('nonsense\r\n\r\n')).to.equal(`${refused}\r\n`)
  })

  // Shows: sidecar C1.23, C3.12, C3.13.
  it('ignores X-Forwarded-For from a proxy that is not trusted', async () => {
    await start({ rateLimit: { max: 1 } })
    expect(await from('198.51.100.1')).to.match(/ 404 /)
    expect(await from('198.51.100.2')).to.equal('')
  })

  it('a trusted proxy gets 429 if one of its clients registers too many stations', async () => {
    await start({ rateLimit: { newStationsPerHour: 0 }, listen: { trustProxy: true } })
    const answer = await api.raw(lastRegister('N0CALL', 'X-Forwarded-For: 198.51.100.1'))
    expect(answer).to.match(/ 429 .*Connection: close/s)
  })

  const overLimit = () =>
    api.logged.flatMap(({ event, level, address, limit }) =>
      event === 'client-over-limit' ? [[level, address, limit]] : [],
    )

  // Shows: sidecar C13.19.
  it('logs hourly which client network exceeds which rate limit', async () => {
    await start({ rateLimit: { max: 1, newStationsPerHour: 0 }, listen: { trustProxy: true } })
    for (const client of ['192.0.2.1', '192.0.2.2', '2001:db8:0:2f3::1', '2001:db8:0:200::1'])
      for (let times = 0; times < 3; times += 1) await from(client)
    const warnings = [
      ['warn', '192.0.2.0/24', 'rateLimit.max'],
      ['warn', '2001:db8:0:200::/56', 'rateLimit.max'],
    ]
    expect(overLimit()).to.deep.equal(warnings)
    await api.raw(lastRegister('N0CALL', 'X-Forwarded-For: 198.51.100.1'))
    const newStations = ['warn', '198.51.100.0/24', 'rateLimit.newStationsPerHour']
    expect(overLimit()).to.deep.equal([...warnings, newStations])
    await api.clock.advance(3_600_000)
    for (let times = 0; times < 2; times += 1) await from('192.0.2.9')
    expect(overLimit()).to.deep.equal([...warnings, newStations, warnings[0]])
  })

  // Shows: sidecar C13.19.
  it('/metrics counts dropped requests separately for each limit', async () => {
    await start({ rateLimit: { max: 2, newStationsPerHour: 0 } })
    await api.raw(lastRegister('N0CALL'))
    for (let times = 0; times < 3; times += 1) await from('')
    const { text } = await api.metrics.expose()
    expect(text).to.include('mesh_companion_api_dropped_total{limit="new_stations"} 1\n')
    expect(text).to.include('mesh_companion_api_dropped_total{limit="requests"} 2\n')
    expect(text).to.include('mesh_companion_api_dropped_total{limit="unread_answers"} 0\n')
  })

  // Shows: sidecar C13.19.
  it('limits new stations for each IPv6 /56 network', async () => {
    await start({ rateLimit: { newStationsPerHour: 2 }, listen: { trustProxy: true } })
    const registering = (callsign: string, client: string) =>
      api.raw(lastRegister(callsign, `X-Forwarded-For: ${client}`))
    expect(await registering('N1CALL', '2001:db8:0:100::1')).to.match(/ 200 /)
    expect(await registering('N2CALL', '2001:db8:0:1ff::1')).to.match(/ 200 /)
    expect(await registering('N3CALL', '2001:db8:0:180::1')).to.match(/ 429 /)
    expect(await registering('N4CALL', '2001:db8:0:200::1')).to.match(/ 200 /)
  })

  const header = 'X-Forwarded-For: 198.51.100.1'
  for (const [name, trustProxy, wrong, right, event] of [
    ['names a client but is not trusted', false, [header], [], 'proxy-not-trusted'],
    ['is trusted but names no client', ['127.0.0.0/8'], [], [header], 'proxy-says-no-client'],
  ] as const)
    it(`warns once of a proxy that ${name}`, async () => {
      await start({ listen: { trustProxy } })
      const warnings = () => api.logged.flatMap(({ event }) => (String(event).startsWith('proxy-') ? [event] : []))
      await api.raw(lastSync(...right))
      expect(warnings()).to.deep.equal([])
      for (let times = 0; times < 2; times++) await api.raw(lastSync(...wrong))
      expect(warnings()).to.deep.equal([event])
    })

  // Shows: sidecar 20.2, C1.19, C3.11, C11.8.
  it('at the limit on new stations, only known stations get an answer to /v1/register', async () => {
    await start({ rateLimit: { newStationsPerHour: 1 } })
    const registering = (callsign: string) => api.raw(lastRegister(callsign))
    expect(await registering('N0CALL')).to.match(/ 200 /)
    expect(await registering('N1CALL')).to.equal('')
    expect([...api.store.stations.keys()]).to.deep.equal(['N0CALL-7'])
    expect(await registering('N0CALL')).to.match(/ 200 /)
    api.clock.set(api.clock.now() + 86_400_000)
    expect(await registering('N1CALL')).to.equal('')
    await api.clock.advance(3_600_000)
    expect(await registering('N1CALL')).to.match(/ 200 /)
  })
})

describe('The API over TLS', () => {
  // Shows: sidecar 2.18, C1.22, C10.1.
  it('the API keeps its TLS certificate and logs an event if the new one is invalid', async () => {
    const [files, second] = [await makeServerFiles('sidecar-tls'), await makeServerFiles('sidecar-tls')]
    const { api, logged, close } = await startApi({ listen: { certFile: files.certFile, keyFile: files.keyFile } })
    try {
      await copyFile(second.keyFile, files.keyFile)
      await api.reloadTls()
      const [answer] = await once(get(`${api.url}/v1/sync`, { ca: files.ca, agent: false }), 'response')
      expect(answer.resume().statusCode).to.equal(405)
      expect(logged.map(({ event }) => event)).to.include('tls-not-reloaded')
    } finally {
      await close()
      for (const keys of [files, second]) await keys.remove()
    }
  })
})
