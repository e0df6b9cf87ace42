import { expect } from 'chai'
import fc from 'fast-check'
import { StoreError } from '../../../sidecar/errors.ts'
import { propertyRuns } from '../../support/property-runs.ts'
import { type ApiOptions, claim, type RunningApi, registration, startApi } from '../../support/running-api.ts'

describe('The API calls', () => {
  let api: RunningApi
  beforeEach(async () => {
    api = await startApi()
  })
  afterEach(() => api.close())

  const register = (callsign: string, members: object = {}) => api.post('/v1/register', registration(callsign, members))

  /** Restarts the API with other options. */
  const restart = async (options: ApiOptions) => {
    await api.close()
    api = await startApi(options)
  }

  describe('/v1/register', () => {
    // Shows: sidecar 2.1, 5.9, 5.10, 11.13, 11.14, 11.16, 22.2, C2.1.
    it('/v1/register returns the server time, an empty avatar hash and no avatars', async () => {
      const { status, body } = await register('N0CALL')
      expect(status).to.equal(200)
      expect(body).to.deep.equal({ serverTime: body.serverTime, avatarHash: '', avatars: {} })
      expect(body.serverTime).to.be.a('number')
      expect(api.store.stations.get('N0CALL-7')?.devices[0]).to.include({
        id: '',
        platform: 'android',
        pushToken: 'token-of-N0CALL',
        ackMessages: false,
      })
      expect(api.metrics.value('stations_registered')).to.equal(1)
    })

    // Shows: sidecar 22.3, C2.7.
    it('/v1/register ignores unknown members, and optional members that are null', async () => {
      const optional = ['wantHistory', 'since', 'avatarHash', 'avatarIcon', 'avatarUpdate']
      const extra = { apiVersion: 9, ...Object.fromEntries(optional.map((name) => [name, null])) }
      expect((await register('N0CALL', extra)).status).to.equal(200)
    })

    // Shows: sidecar C1.20, C3.10.
    it('refuses a new station with the error full if the registry is full', async () => {
      await restart({ maxStations: 1 })
      expect((await register('N0CALL')).status).to.equal(200)
      const { status, body } = await register('N1CALL')
      expect(status).to.equal(503)
      expect(body.error).to.equal('full')
      expect((await register('N0CALL')).status).to.equal(200)
    })
  })

  for (const [path, rest] of [
    ['/v1/register', { platform: 'ios', pushToken: 'f0', ackMessages: true }],
    ['/v1/sync', { since: 0 }],
    ['/v1/avatars', { stations: [] }],
    ['/v1/unregister', {}],
  ] as const) {
    describe(path, () => {
      // Shows: sidecar 11.8, 12.1, 13.1, 18.1, 18.2, 18.5, 20.3, C3.3.
      it('refuses a wrong passcode alike for registered and unregistered stations', async () => {
        await register('N0CALL')
        const answers = await Promise.all(
          ['N0CALL', 'N9CALL'].map((callsign) => {
            const { auth, ...identity } = claim(callsign)
            return api.post(path, { ...identity, auth: auth + 1, ...rest })
          }),
        )
        expect(answers.map(({ status }) => status)).to.deep.equal([403, 403])
        expect(answers[0]?.body.error).to.equal('wrong_passcode')
        expect(answers[0]?.bytes.equals(answers[1]?.bytes ?? Buffer.alloc(0))).to.equal(true)
        expect([...api.store.stations.keys()]).to.deep.equal(['N0CALL-7'])
      })

      // Shows: sidecar 8.2, 11.1, 11.2, 11.3, 11.4, 11.5, 11.8, 12.1, 13.1, 18.1, C3.2, C10.6.
      it('refuses an empty request, and lists all missing members', async () => {
        const { status, body } = await api.post(path, {})
        expect(status).to.equal(400)
        expect(body.error).to.equal('invalid_request')
        expect(body.details.map((detail) => detail.path)).to.have.members([
          'callsign',
          'ssid',
          'auth',
          ...Object.keys(rest),
        ])
      })

      // Shows: sidecar 10.3, 20.3, C3.1.
      it('the API answers any JSON body with JSON, and never with an internal error', async () => {
        await fc.assert(
          fc.asyncProperty(fc.jsonValue(), fc.jsonValue(), async (value, odd) => {
            for (const sent of [
              value,
              { ...claim('N0CALL'), ...rest, ...Object(value) },
              { ...claim('N0CALL'), since: odd, ssid: odd },
            ]) {
              const { status, body } = await api.post(path, JSON.stringify(sent))
              expect(status).to.be.oneOf([200, 400, 403, 404])
              if (status !== 200) expect(body).to.include.keys('error', 'message')
            }
          }),
          { numRuns: propertyRuns(8) },
        )
        expect(api.logged.filter(({ level }) => level === 'error')).to.deep.equal([])
      })
    })
  }

  for (const [members, path] of [
    [{ callsign: 'N0 CALL' }, 'callsign'],
    [{ callsign: 'N0CALL/N1CALL' }, 'callsign'],
    [{ ssid: 100 }, 'ssid'],
    [{ ssid: 1.5 }, 'ssid'],
    [{ ssid: 'ABC' }, 'ssid'],
    [{ platform: 'windows' }, 'platform'],
    [{ pushToken: '' }, 'pushToken'],
    [{ pushToken: 'a b' }, 'pushToken'],
    [{ pushToken: 'x'.repeat(4097) }, 'pushToken'],
    [{ platform: 'ios', pushToken: 'abc' }, 'pushToken'],
    [{ pushToken: 'ab'.repeat(101), platform: 'ios' }, 'pushToken'],
    [{ platform: 'ios', pushToken: 'cGxhaW4=' }, 'pushToken'],
    [{ platform: 'ios', pushToken: `<${'ab'.repeat(32)}>` }, 'pushToken'],
    [{ platform: 'ios', pushToken: 'eX1:APA91bHPRgkF' }, 'pushToken'],
    [{ ackMessages: 'no' }, 'ackMessages'],
    [{ auth: '13023' }, 'auth'],
    [{ since: '0' }, 'since'],
    [{ wantHistory: 1 }, 'wantHistory'],
    [{ avatarImage: 5 }, 'avatarImage'],
    [{ wantAcks: 'yes' }, 'wantAcks'],
    [{ anySsid: 1 }, 'anySsid'],
    [{ blocked: 'N1CALL' }, 'blocked'],
    [{ blocked: new Array(51).fill('N1CALL') }, 'blocked'],
    [{ blocked: ['N1CALL', 'N1 CALL'] }, 'blocked[1]'],
    [{ blocked: ['*CALL'] }, 'blocked[0]'],
    [{ blocked: [''] }, 'blocked[0]'],
  ] as const) {
    // Shows: sidecar 3.1, 3.2, 3.3, 3.4, 3.5, 8.2, 11.1, 11.3, 11.4, 11.5, 11.6, 11.7, 11.8, 11.10, C3.2, C5.1, C5.2.
    // Shows: sidecar F1.5.
    it(`refuses to register ${JSON.stringify(members).slice(0, 40)}, naming the member`, async () => {
      const { status, body } = await register('N0CALL', members)
      expect(status).to.equal(400)
      expect(body.error).to.equal('invalid_request')
      expect(body.details.map((detail) => detail.path)).to.deep.equal([path])
      expect(body.details[0]?.reason).to.match(/\.$/)
    })
  }

  // Shows: sidecar 3.4.
  it('accepts iOS device tokens of up to 100 bytes, in either letter case', async () => {
    for (const pushToken of ['0A'.repeat(32), 'f'.repeat(64), '80'.repeat(80), 'ab'.repeat(100)]) {
      expect((await register('N0CALL', { platform: 'ios', pushToken })).status).to.equal(200)
      expect(api.store.stations.get('N0CALL-7')?.devices[0]?.pushToken).to.equal(pushToken)
    }
  })

  // Shows: sidecar C13.1.
  it('refuses to register a reserved callsign even with the right passcode', async () => {
    await restart({ isReserved: (key) => key === 'SMSGTE-7' })
    const { status, body } = await register('SMSGTE')
    expect(status).to.equal(403)
    expect(Object.keys(body)).to.deep.equal(['error', 'message'])
    expect(body.error).to.equal('reserved')
    expect((await register('SMSGTE', { auth: 1 })).body.error).to.equal('wrong_passcode')
    expect((await register('SMSGTE', { ssid: 8 })).status).to.equal(200)
    expect([...api.store.stations.keys()]).to.deep.equal(['SMSGTE-8'])
  })

  it('in a full registry, a new station replaces only a station that never synced', async () => {
    await api.close()
    api = await startApi({ maxStations: 2 })
    await register('N1CALL')
    await register('N2CALL')
    expect((await api.post('/v1/sync', { ...claim('N1CALL'), since: 0 })).status).to.equal(200)
    expect((await register('N3CALL')).body.error).to.equal('full')
    await api.clock.advance(3_601_000)
    expect((await register('N3CALL')).status).to.equal(200)
    expect([...api.store.stations.keys()].sort()).to.deep.equal(['N1CALL-7', 'N3CALL-7'])
    const departures = api.logged.filter(({ event }) => event === 'station-left').map(({ station }) => station)
    expect(departures).to.deep.equal(['N2CALL-7'])
    expect(api.metrics.value('stations_displaced')).to.equal(1)
    expect((await register('N4CALL')).body.error).to.equal('full')
  })

  it('a sync with a negative cursor returns a later serverTime than the registration', async () => {
    const { body } = await register('N0CALL')
    for (const since of [-1, Number.MIN_SAFE_INTEGER]) {
      const synced = await api.post('/v1/sync', { ...claim('N0CALL'), since })
      const launched = await register('N0CALL', { wantHistory: true, since })
      for (const answer of [synced, launched]) expect(answer.body.serverTime).to.be.above(body.serverTime)
    }
  })

  // Shows: sidecar C3.9.
  it('the API answers a store failure with the error internal, and logs it once', async () => {
    const { store, clock } = api
    const remove = () => Promise.reject(new StoreError('disk_failing'))
    const failing = await startApi({ over: { store: { ...store, stations: { ...store.stations, remove } }, clock } })
    try {
      const { status, body } = await failing.post('/v1/unregister', { ...claim('N0CALL'), deviceId: 'a' })
      expect(status).to.equal(500)
      expect(Object.keys(body)).to.deep.equal(['error', 'message'])
      expect(body.error).to.equal('internal')
      expect(failing.logged.filter(({ event }) => event === 'api-failed')).to.have.length(1)
      expect(JSON.stringify(body)).to.not.match(/ at |node:|\.ts/)
    } finally {
      await failing.close()
    }
  })

  // Shows: sidecar C6.2.
  it('the API answers 503 with Retry-After and logs nothing after the store closed', async () => {
    await register('N0CALL')
    await api.store.close()
    const logged = api.logged.length
    const { status, body, headers } = await api.post('/v1/sync', { ...claim('N0CALL'), since: 0 })
    expect(status).to.equal(503)
    expect(body.error).to.equal('overloaded')
    expect(headers['retry-after']).to.equal('10')
    expect(api.logged.slice(logged)).to.deep.equal([])
  })
})
