import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { makeCertificates } from '../../../../fixtures/certificate.ts'
import { passcodeOf } from '../../../../sidecar/aprs/passcode.ts'
import { RESERVED_CALLS } from '../../../../sidecar/config/reserved-calls.ts'
import { makeVapidKeys } from '../../../../sidecar/config/vapid-keys.ts'
import { CALLSIGN, type Files, pathsOf, problemsOf, read, settingsRead } from './readings.ts'

const pkcs8 = (key: ReturnType<typeof generateKeyPairSync>['privateKey']) =>
  String(key.export({ type: 'pkcs8', format: 'pem' }))
const p256 = pkcs8(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)
const p384 = pkcs8(generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey)
const rsa = pkcs8(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey)
const callsign = CALLSIGN
const passcode = passcodeOf(callsign)

describe('configuration', () => {
  it('takes the name of a schema for editors, and does nothing with it', () => {
    expect(settingsRead({ $schema: './sidecar.json', aprsis: { callsign } })).to.deep.equal(settingsRead({}))
    expect(pathsOf({ aprsis: { callsign, $schema: './sidecar.json' } })).to.deep.equal(['aprsis.$schema'])
  })

  it('needs a callsign and has the documented default for everything else', () => {
    expect(settingsRead({})).to.deep.equal({
      listen: { host: '127.0.0.1', port: 8080, certFile: null, keyFile: null, trustProxy: false },
      admin: { host: '127.0.0.1', port: 9090 },
      aprsis: {
        host: 'rotate.aprs2.net',
        port: 14580,
        callsign: 'N0CALL-10',
        passcode: -1,
        maxConnections: 16,
        trackOutgoing: false,
        filterDebounceMs: 2000,
        listeners: 2,
        listen: true,
      },
      database: '/etc/sidecar/data/sidecar.sqlite',
      databaseTls: { caFile: null },
      instance: null,
      history: { perStation: 50, duplicateMinutes: 120, duplicateSecondsUnnumbered: 30 },
      push: {
        coalesceMs: 2000,
        fcm: { serviceAccountFile: null, endpoint: null, caFile: null },
        apns: {
          keyFile: null,
          keyId: null,
          teamId: null,
          topic: null,
          production: true,
          address: null,
          port: null,
          caFile: null,
        },
        webpush: { subject: null, keyFile: null, allowPrivate: false, caFile: null },
      },
      ack: { minIntervalMs: 29000, maxPerSenderPerMinute: 10 },
      rateLimit: { windowMs: 60000, max: 120, newStationsPerHour: 20, connectionsPerAddress: 64 },
      stations: { max: 5000, expireAfterHours: 720, reserved: RESERVED_CALLS, blockedSenders: [] },
      backup: { folder: null, keep: 7 },
      log: { level: 'info' },
    })
    expect(pathsOf('{}')).to.deep.equal(['aprsis.callsign'])
  })

  it('is frozen through and through', () => {
    const settings = settingsRead({ listen: { trustProxy: ['::1'] } })
    const open: unknown[] = []
    const walk = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return
      if (!Object.isFrozen(value)) open.push(value)
      Object.values(value).forEach(walk)
    }
    walk(settings)
    expect(open).to.deep.equal([])
  })

  it('lets the environment win over the file, also where the file has no such table', () => {
    const env = { SIDECAR_APRSIS_CALLSIGN: 'n1call', SIDECAR_LISTEN_PORT: '0' }
    const settings = settingsRead({}, { env })
    expect(settings.aprsis.callsign).to.equal('N1CALL')
    expect(settings.listen.port).to.equal(0)
  })

  it("takes relative paths from the file's folder and leaves absolute ones and :memory: alone", () => {
    const databaseOf = (database: string) => settingsRead({ database }).database
    expect(databaseOf('x/y.sqlite')).to.equal('/etc/sidecar/x/y.sqlite')
    expect(databaseOf('/var/lib/y.sqlite')).to.equal('/var/lib/y.sqlite')
    expect(databaseOf(':memory:')).to.equal(':memory:')
  })

  it('says which variable a mistake in an entry of a list comes from', () => {
    const env = { SIDECAR_STATIONS_BLOCKED_SENDERS: 'N1CALL,N2 CALL', SIDECAR_LISTEN_TRUST_PROXY: '10.0.0.0/33' }
    expect(
      problemsOf({}, { env }).map(({ path, reason }) => [path, reason.match(/\(.*\)$/)?.[0]]),
    ).to.have.deep.members([
      ['stations.blockedSenders[1]', '(set by SIDECAR_STATIONS_BLOCKED_SENDERS)'],
      ['listen.trustProxy[0]', '(set by SIDECAR_LISTEN_TRUST_PROXY)'],
    ])
  })

  it('reports every mistake at once, each with its path, reason and remedy', () => {
    const problems = problemsOf(
      `{
        "lisen": {},
        "listen": { "port": 70000, "trustProxy": ["10.0.0.0/33"], "certFile": "missing.pem" },
        "aprsis": { "callsign": "N0CALL!", "maxConnections": 0, "passcode": "abc" },
        "database": "",
        "history": { "duplicateMinutes": 0, "duplicateMinutes": 0 },
        "push": { "fcm": { "endpoint": "http://127.0.0.1:1" }, "apns": { "keyFile": "missing.p8" } },
        "stations": [],
        "log": { "level": "loud" }
      }`,
      { env: { SIDECAR_ADMIN_PORT: 'x' } },
    )
    expect(problems.map(({ path }) => path)).to.have.members([
      'lisen',
      'listen.port',
      'listen.trustProxy[0]',
      'listen.keyFile',
      'admin.port',
      'aprsis.callsign',
      'aprsis.maxConnections',
      'aprsis.passcode',
      'database',
      'history.duplicateMinutes',
      'history.duplicateMinutes',
      'push.fcm.endpoint',
      'push.apns.keyFile',
      'push.apns.keyId',
      'push.apns.teamId',
      'push.apns.topic',
      'stations',
      'log.level',
    ])
    expect(problems.every(({ reason, remedy }) => reason.length > 5 && /[.?]$/.test(remedy))).to.equal(true)
    expect(problems.find(({ path }) => path === 'lisen')?.remedy).to.equal('Did you mean "listen"?')
    expect(problems.find(({ path }) => path === 'listen.port')?.reason).to.equal('must be 0 to 65535')
    const minutes = problems.filter(({ path }) => path === 'history.duplicateMinutes').map(({ reason }) => reason)
    expect(minutes).to.include('must be more than 0 and at most 5256000')
    expect(problems.find(({ path }) => path === 'admin.port')?.reason).to.include('SIDECAR_ADMIN_PORT')
  })

  it('says line and column where the file is no JSON', () => {
    const problems = problemsOf('{\n  "aprsis": {,}\n}')
    expect(problems.map(({ path, reason }) => [path, reason])).to.deep.equal([
      ['$', 'is not JSON: unexpected ",", at line 2, column 14'],
    ])
  })

  it('warns of variables that name no setting, be the file right, wrong or no JSON', () => {
    const env = { SIDECAR_LOGLEVEL: 'info' }
    for (const config of [{}, '{}', '{']) {
      const { warnings } = read(config, { env })
      expect(warnings.map(({ path, remedy }) => [path, remedy])).to.deep.equal([
        ['SIDECAR_LOGLEVEL', 'Did you mean SIDECAR_LOG_LEVEL?'],
      ])
    }
  })

  it('takes a file that begins with a byte order mark', () => {
    expect(pathsOf(`\uFEFF${JSON.stringify({ aprsis: { callsign } })}`)).to.deep.equal([])
  })

  it('refuses a passcode of another callsign without giving the right one away', () => {
    expect(pathsOf({ aprsis: { callsign, passcode } })).to.deep.equal([])
    const problems = problemsOf({ aprsis: { callsign, passcode: passcode + 1 } })
    expect(problems.map(({ path }) => path)).to.deep.equal(['aprsis.passcode'])
    expect(JSON.stringify(problems)).to.not.include(String(passcode))
    expect(pathsOf({ aprsis: { callsign, passcode: -2 } })).to.deep.equal(['aprsis.passcode'])
    expect(pathsOf({ aprsis: { callsign, passcode: 32768 } })).to.deep.equal(['aprsis.passcode'])
  })

  for (const wrong of ['', 'N0', 'N0CALL-100', 'N0CALLSIGN', 'N0-CALL-1', 'N0CÄLL', '-1', 'N0CALL-', 'N0CALL 1']) {
    it(`refuses the callsign ${JSON.stringify(wrong)}`, () => {
      expect(pathsOf({ aprsis: { callsign: wrong } })).to.deep.equal(['aprsis.callsign'])
    })
  }

  it('refuses one port for both servers, unless it is any free one', () => {
    const ports = (port: number) => ({ listen: { port }, admin: { port } })
    expect(pathsOf(ports(8080))).to.deep.equal(['admin.port'])
    expect(pathsOf(ports(0))).to.deep.equal([])
  })

  for (const [listen, admin, refused] of [
    ['::', '127.0.0.1', true],
    ['127.0.0.1', '::', true],
    ['0.0.0.0', '127.0.0.1', true],
    ['0.0.0.0', '::', true],
    ['192.0.2.1', '127.0.0.1', false],
    ['0.0.0.0', '::1', false],
  ] as const)
    it(`${refused ? 'refuses' : 'takes'} one port for both servers on ${listen} and ${admin}`, () => {
      const config = { listen: { host: listen, port: 80 }, admin: { host: admin, port: 80 } }
      expect(pathsOf(config)).to.deep.equal(refused ? ['admin.port'] : [])
    })

  for (const host of ['rotate.aprs2.net', '127.0.0.1', '::1', '2001:db8::14', '::ffff:192.0.2.1'])
    it(`takes the host ${host}`, () => expect(pathsOf({ aprsis: { callsign, host } })).to.deep.equal([]))

  for (const host of [
    'rotate.aprs2.net:14580',
    '127.0.0.1:14580',
    '[::1]',
    '[::1]:14580',
    'tcp://rotate.aprs2.net',
    'a b',
  ])
    it(`refuses the host ${host}: a port goes elsewhere`, () => {
      const push = { apns: { address: host } }
      expect(pathsOf({ aprsis: { callsign, host }, listen: { host }, push })).to.have.members([
        'aprsis.host',
        'listen.host',
        'push.apns.address',
      ])
    })

  it('calls a number that is not whole a fraction', () => {
    const [problem] = problemsOf({ aprsis: { callsign, passcode: 1.5 } })
    expect(problem?.reason).to.equal('must be a whole number, not a fraction')
  })

  it('never quotes a value, which may be a secret', () => {
    const secret = 'S3CRET-value'
    fc.assert(
      fc.property(fc.constantFrom('callsign', 'passcode', 'host', 'port', secret), (name) => {
        const problems = problemsOf({ aprsis: { callsign, [name]: [secret] }, push: secret, log: { level: secret } })
        expect(problems.map(({ reason, remedy }) => reason + remedy).join()).to.not.include(secret)
      }),
    )
  })

  describe('for TLS', () => {
    let files: Files
    before(async () => {
      const [one, other] = await Promise.all([makeCertificates(), makeCertificates()])
      files = {
        '/etc/sidecar/cert.pem': one.server.cert,
        '/etc/sidecar/key.pem': one.server.key,
        '/etc/sidecar/other.pem': other.server.key,
        '/etc/sidecar/text.pem': 'SECRET text',
        '/etc/sidecar/chain.pem': `what it is\n${one.server.cert}\nwho signed it\n${one.ca.cert}`,
        '/etc/sidecar/broken.pem': `${one.server.cert}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
      }
    })
    const listening = (listen: object) => problemsOf({ listen }, { files })

    it('takes a certificate with its key', () => {
      expect(listening({ certFile: 'cert.pem', keyFile: 'key.pem' })).to.deep.equal([])
    })

    it('takes a whole chain, with text between, and names the file where one of it is broken', () => {
      expect(listening({ certFile: 'chain.pem', keyFile: 'key.pem' })).to.deep.equal([])
      const [problem, ...others] = listening({ certFile: 'broken.pem', keyFile: 'key.pem' })
      expect(others).to.deep.equal([])
      expect(problem?.path).to.equal('listen.certFile')
      expect(problem?.reason).to.include('/etc/sidecar/broken.pem, which is not a certificate in PEM')
    })

    it('needs both or neither', () => {
      expect(listening({ certFile: 'cert.pem' }).map(({ path }) => path)).to.deep.equal(['listen.keyFile'])
      expect(listening({ keyFile: 'key.pem' }).map(({ path }) => path)).to.deep.equal(['listen.certFile'])
    })

    it('refuses a key of another certificate', () => {
      expect(listening({ certFile: 'cert.pem', keyFile: 'other.pem' })).to.deep.include({
        path: 'listen.keyFile',
        reason: 'is not the key of the certificate in listen.certFile',
        remedy:
          "Name the private key that the certificate was made for; the server's own certificate stands first in its file.",
      })
    })

    it('refuses files that are missing or no PEM, both at once', () => {
      const problems = listening({ certFile: 'text.pem', keyFile: 'gone.pem' })
      expect(problems.map(({ path }) => path)).to.deep.equal(['listen.certFile', 'listen.keyFile'])
      expect(problems[1]?.reason).to.equal('names /etc/sidecar/gone.pem, which cannot be read (ENOENT)')
      expect(JSON.stringify(problems)).to.not.include('SECRET')
    })
  })

  describe('for the push gateways', () => {
    const account = { type: 'service_account', project_id: 'p', client_email: 'a@b', private_key: rsa }
    const files: Files = {
      '/etc/sidecar/p256.p8': p256,
      '/etc/sidecar/p384.p8': p384,
      '/etc/sidecar/account.json': JSON.stringify(account),
      '/etc/sidecar/half.json': JSON.stringify({ ...account, project_id: undefined, private_key_id: 'SECRET' }),
      '/etc/sidecar/nobody.json': JSON.stringify({ ...account, client_email: '' }),
      '/etc/sidecar/text.json': '"SECRET"',
      '/etc/sidecar/broken.json': 'SECRET {',
      '/etc/sidecar/person.json': JSON.stringify({ ...account, type: 'authorized_user' }),
      '/etc/sidecar/broken-key.json': JSON.stringify({ ...account, private_key: 'SECRET' }),
      '/etc/sidecar/other-key.json': JSON.stringify({ ...account, private_key: p256 }),
    }
    const pushing = (push: object) => problemsOf({ push }, { files })
    const apns = { keyFile: 'p256.p8', keyId: 'ABC1234567', teamId: 'DEF1234567', topic: 'org.example.app' }

    it('takes complete credentials', () => {
      const fcm = { serviceAccountFile: 'account.json', endpoint: 'https://127.0.0.1:8443' }
      expect(pushing({ fcm, apns })).to.deep.equal([])
    })

    it('refuses a signing key on another curve', () => {
      expect(pushing({ apns: { ...apns, keyFile: 'p384.p8' } }).map(({ path }) => path)).to.deep.equal([
        'push.apns.keyFile',
      ])
    })

    it('refuses a service account file without its members or with a key of no use, and does not quote it', () => {
      for (const name of ['half', 'nobody', 'text', 'broken', 'person', 'broken-key', 'other-key']) {
        const problems = pushing({ fcm: { serviceAccountFile: `${name}.json` } })
        expect(problems.map(({ path }) => path)).to.deep.equal(['push.fcm.serviceAccountFile'])
        expect(JSON.stringify(problems)).to.not.include('SECRET')
      }
    })

    for (const id of ['ABC', 'ABC12345678', 'abc1234567', 'ABC-123456']) {
      it(`refuses ${id} for one of Apple's ids`, () => {
        const problems = pushing({ apns: { ...apns, keyId: id, teamId: id } })
        expect(problems.map(({ path }) => path)).to.deep.equal(['push.apns.keyId', 'push.apns.teamId'])
        expect(problems[0]?.remedy).to.include('10 capital letters and digits')
      })
    }

    for (const endpoint of [
      'http://h:1',
      'https://h:1/path',
      'https://u:p@h:1',
      'https://h?x',
      'https://h:99999',
      'h:1',
      'nonsense',
    ]) {
      it(`refuses the FCM endpoint ${endpoint}`, () => {
        expect(pushing({ fcm: { endpoint } }).map(({ path }) => path)).to.deep.equal(['push.fcm.endpoint'])
      })
    }

    it('refuses CA files that hold no certificate', () => {
      const problems = pushing({ fcm: { caFile: 'account.json' }, apns: { ...apns, caFile: 'gone.pem' } })
      expect(problems.map(({ path }) => path)).to.deep.equal(['push.fcm.caFile', 'push.apns.caFile'])
    })

    for (const subject of ['mailto:operator@example.org', 'https://example.org/contact'])
      it(`takes the Web Push subject ${subject}`, () => expect(pushing({ webpush: { subject } })).to.deep.equal([]))

    for (const subject of [
      '',
      'operator@example.org',
      'mailto:',
      'mailto: a@b.org',
      'http://example.org',
      'https://localhost/x',
      'https://example.org:99999/',
    ])
      it(`refuses the Web Push subject ${JSON.stringify(subject)}`, () =>
        expect(pushing({ webpush: { subject } }).map(({ path }) => path)).to.deep.equal(['push.webpush.subject']))

    it('takes VAPID keys that are still to be made, and refuses damaged ones with a remedy, quoting nothing', () => {
      const keys = makeVapidKeys()
      const webpush = { subject: 'mailto:operator@example.org' }
      const checked = (text: string | undefined, push: object = { webpush }) =>
        problemsOf(
          { push },
          { files: text === undefined ? {} : { '/etc/sidecar/data/sidecar.sqlite.vapid.json': text } },
        )
      expect(checked(undefined)).to.deep.equal([])
      expect(checked(JSON.stringify(keys))).to.deep.equal([])
      const [problem] = checked(JSON.stringify(keys).slice(0, -3))
      expect(problem).to.include({ path: 'push.webpush.keyFile' })
      expect(problem?.remedy).to.include('subscribe anew')
      expect(JSON.stringify(problem)).to.not.include(keys.privateKey.slice(0, 10))
      expect(checked('damaged', { webpush: { ...webpush, keyFile: 'gone.json' } })).to.deep.equal([])
      expect(checked('damaged', {})).to.deep.equal([])
    })
  })
})
