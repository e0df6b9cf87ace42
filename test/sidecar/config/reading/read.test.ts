import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { makeCertificates } from '../../../../fixtures/certificate.ts'
import { passcodeOf } from '../../../../sidecar/aprs/passcode.ts'
import { makeVapidKeys } from '../../../../sidecar/config/vapid-keys.ts'
import { CALLSIGN, type Files, pathsOf, problemsOf, read, settingsRead } from './readings.ts'

const pkcs8 = (key: ReturnType<typeof generateKeyPairSync>['privateKey']) =>
  String(key.export({ type: 'pkcs8', format: 'pem' }))
const p256 = pkcs8(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)
const p384 = pkcs8(generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey)
const rsa = pkcs8(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey)
const callsign = CALLSIGN
const passcode = passcodeOf(callsign)

describe('The configuration of the sidecar', () => {
  it('accepts $schema at the top of the configuration, but not inside a section', () => {
    expect(settingsRead({ $schema: './sidecar.json', aprsis: { callsign } })).to.deep.equal(settingsRead({}))
    expect(pathsOf({ aprsis: { callsign, $schema: './sidecar.json' } })).to.deep.equal(['aprsis.$schema'])
  })

  it('the configuration requires a callsign and no other setting', () => {
    expect(pathsOf('{}')).to.deep.equal(['aprsis.callsign'])
    expect(pathsOf({ aprsis: { callsign } })).to.deep.equal([])
  })

  it('reading the configuration freezes the settings at every depth', () => {
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

  // Shows: sidecar C1.2.
  it('environment variables override the file, even in a section that the file lacks', () => {
    const env = { SIDECAR_APRSIS_CALLSIGN: 'n1call', SIDECAR_LISTEN_PORT: '0' }
    const settings = settingsRead({}, { env })
    expect(settings.aprsis.callsign).to.equal('N1CALL')
    expect(settings.listen.port).to.equal(0)
  })

  it("resolves relative paths from the configuration file's folder", () => {
    const databaseOf = (database: string) => settingsRead({ database }).database
    expect(databaseOf('x/y.sqlite')).to.equal('/etc/sidecar/x/y.sqlite')
    expect(databaseOf('/var/lib/y.sqlite')).to.equal('/var/lib/y.sqlite')
    expect(databaseOf(':memory:')).to.equal(':memory:')
  })

  it('names the environment variable that set an invalid list entry', () => {
    const env = { SIDECAR_STATIONS_BLOCKED_SENDERS: 'N1CALL,N2 CALL', SIDECAR_LISTEN_TRUST_PROXY: '10.0.0.0/33' }
    expect(
      problemsOf({}, { env }).map(({ path, reason }) => [path, reason.match(/\(.*\)$/)?.[0]]),
    ).to.have.deep.members([
      ['stations.blockedSenders[1]', '(set by SIDECAR_STATIONS_BLOCKED_SENDERS)'],
      ['listen.trustProxy[0]', '(set by SIDECAR_LISTEN_TRUST_PROXY)'],
    ])
  })

  // Shows: sidecar C1.28.
  it('reports every configuration mistake at once, each with path, reason and remedy', () => {
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

  it('lists the settings of the section for an unknown setting with no similar name', () => {
    const [problem] = problemsOf({ aprsis: { callsign }, backup: { retention: 3 } })
    expect(problem?.remedy).to.equal('The settings in backup are folder, keep.')
  })

  it('names the limit if a text has too many characters', () => {
    const subject = `mailto:${'a'.repeat(250)}@example.org`
    const [problem] = problemsOf({ aprsis: { callsign }, push: { webpush: { subject } } })
    expect(problem?.reason).to.equal('must have at most 255 characters')
  })

  it('names line and column of the mistake if the configuration file is not JSON', () => {
    const problems = problemsOf('{\n  "aprsis": {,}\n}')
    expect(problems.map(({ path, reason }) => [path, reason])).to.deep.equal([
      ['$', 'is not JSON: there is a comma too many, at line 2, column 14'],
    ])
  })

  it('warns of variables that name no setting, even if the file is invalid', () => {
    const env = { SIDECAR_LOGLEVEL: 'info' }
    for (const config of [{}, '{}', '{']) {
      const { warnings } = read(config, { env })
      expect(warnings.map(({ path, remedy }) => [path, remedy])).to.deep.equal([
        ['SIDECAR_LOGLEVEL', 'Did you mean SIDECAR_LOG_LEVEL?'],
      ])
    }
  })

  it('accepts a configuration file that begins with a byte order mark', () => {
    expect(pathsOf(`\uFEFF${JSON.stringify({ aprsis: { callsign } })}`)).to.deep.equal([])
  })

  it('refuses a passcode of another callsign, without showing the right passcode', () => {
    expect(pathsOf({ aprsis: { callsign, passcode } })).to.deep.equal([])
    const problems = problemsOf({ aprsis: { callsign, passcode: passcode + 1 } })
    expect(problems.map(({ path }) => path)).to.deep.equal(['aprsis.passcode'])
    expect(JSON.stringify(problems)).to.not.include(String(passcode))
    expect(pathsOf({ aprsis: { callsign, passcode: -2 } })).to.deep.equal(['aprsis.passcode'])
    expect(pathsOf({ aprsis: { callsign, passcode: 32768 } })).to.deep.equal(['aprsis.passcode'])
  })

  const both = (listen: object, admin: object) => ({ listen, admin })
  const hosted = (host: string) => ({ aprsis: { callsign, host }, listen: { host }, push: { apns: { address: host } } })
  const HOSTS = ['aprsis.host', 'listen.host', 'push.apns.address']
  const CASES: readonly (readonly [string, object, ...(readonly string[])])[] = [
    ...['', 'N0', 'N0CALL-100', 'N0CALLSIGN', 'N0-CALL-1', 'N0CÄLL', '-1', 'N0CALL-', 'N0CALL 1'].map(
      (wrong) => [`the callsign ${JSON.stringify(wrong)}`, { aprsis: { callsign: wrong } }, 'aprsis.callsign'] as const,
    ),
    ...['rotate.aprs2.net:14580', '127.0.0.1:14580', '[::1]', '[::1]:14580', 'tcp://rotate.aprs2.net', 'a b'].map(
      (host) => [`the host ${host}, which is not a plain name or address`, hosted(host), ...HOSTS] as const,
    ),
    ...['rotate.aprs2.net', '127.0.0.1', '::1', '2001:db8::14', '::ffff:192.0.2.1'].map(
      (host) => [`the host ${host}`, { aprsis: { callsign, host } }] as const,
    ),
    ['the same port for both servers', both({ port: 8080 }, { port: 8080 }), 'admin.port'],
    ['any free port for both servers', both({ port: 0 }, { port: 0 })],
    ...(
      [
        ['::', '127.0.0.1', 'admin.port'],
        ['127.0.0.1', '::', 'admin.port'],
        ['0.0.0.0', '127.0.0.1', 'admin.port'],
        ['0.0.0.0', '::', 'admin.port'],
        ['192.0.2.1', '127.0.0.1'],
        ['0.0.0.0', '::1'],
      ] as const
    ).map(([one, second, ...paths]) => {
      const config = both({ host: one, port: 80 }, { host: second, port: 80 })
      return [`the same port for both servers on ${one} and ${second}`, config, ...paths] as const
    }),
  ]
  // Shows: sidecar C1.27.
  for (const [caseName, config, ...paths] of CASES)
    it(`${paths.length > 0 ? 'refuses' : 'accepts'} ${caseName} in the configuration`, () =>
      expect(pathsOf(config)).to.have.members(paths))

  it('reports a fraction if a setting requires a whole number', () => {
    const [problem] = problemsOf({ aprsis: { callsign, passcode: 1.5 } })
    expect(problem?.reason).to.equal('must be a whole number, not a fraction')
  })

  it('error messages about the configuration never quote a value', () => {
    const secret = 'S3CRET-value'
    fc.assert(
      fc.property(fc.constantFrom('callsign', 'passcode', 'host', 'port', secret), (name) => {
        const problems = problemsOf({ aprsis: { callsign, [name]: [secret] }, push: secret, log: { level: secret } })
        expect(problems.map(({ reason, remedy }) => reason + remedy).join()).to.not.include(secret)
      }),
    )
  })

  describe('The configuration of TLS', () => {
    let files: Files
    before(async () => {
      const [first, second] = await Promise.all([makeCertificates(), makeCertificates()])
      files = {
        '/etc/sidecar/cert.pem': first.server.cert,
        '/etc/sidecar/key.pem': first.server.key,
        '/etc/sidecar/other.pem': second.server.key,
        '/etc/sidecar/text.pem': 'SECRET text',
        '/etc/sidecar/chain.pem': `what it is\n${first.server.cert}\nwho signed it\n${first.ca.cert}`,
        '/etc/sidecar/broken.pem': `${first.server.cert}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
      }
    })
    const listening = (listen: object) => problemsOf({ listen }, { files })

    it('accepts text between the certificates of a chain, and reports an invalid file', () => {
      for (const certFile of ['cert.pem', 'chain.pem'])
        expect(listening({ certFile, keyFile: 'key.pem' })).to.deep.equal([])
      const problems = listening({ certFile: 'broken.pem', keyFile: 'key.pem' })
      expect(problems.map(({ path }) => path)).to.deep.equal(['listen.certFile'])
      expect(problems[0]?.reason).to.include('/etc/sidecar/broken.pem, which is not a certificate in PEM')
    })

    // Shows: sidecar C1.22.
    it('requires both a TLS certificate and its key, or neither', () => {
      expect(listening({ certFile: 'cert.pem' }).map(({ path }) => path)).to.deep.equal(['listen.keyFile'])
      expect(listening({ keyFile: 'key.pem' }).map(({ path }) => path)).to.deep.equal(['listen.certFile'])
    })

    it('refuses a TLS key that belongs to a different certificate', () => {
      const [problem] = listening({ certFile: 'cert.pem', keyFile: 'other.pem' })
      const reason = 'is not the key of the certificate in listen.certFile'
      expect(problem).to.include({ path: 'listen.keyFile', reason })
      expect(problem?.remedy).to.include("the server's own certificate must be the first")
    })

    // Shows: sidecar 2.18.
    it('reports both a missing TLS key and a certificate that is not PEM at once', () => {
      const problems = listening({ certFile: 'text.pem', keyFile: 'gone.pem' })
      expect(problems.map(({ path }) => path)).to.deep.equal(['listen.certFile', 'listen.keyFile'])
      expect(problems[1]?.reason).to.equal('names /etc/sidecar/gone.pem, which cannot be read (ENOENT)')
      expect(JSON.stringify(problems)).to.not.include('SECRET')
    })
  })

  describe('The configuration of the push gateways', () => {
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

    // Shows: sidecar 18.4.
    it('accepts complete push credentials', () => {
      const fcm = { serviceAccountFile: 'account.json', endpoint: 'https://127.0.0.1:8443' }
      expect(pushing({ fcm, apns })).to.deep.equal([])
    })

    // Shows: sidecar C1.28, O1.18.
    it('refuses a service account file that is incomplete or has an unusable key', () => {
      for (const name of ['half', 'nobody', 'text', 'broken', 'person', 'broken-key', 'other-key']) {
        const problems = pushing({ fcm: { serviceAccountFile: `${name}.json` } })
        expect(problems.map(({ path }) => path)).to.deep.equal(['push.fcm.serviceAccountFile'])
        expect(JSON.stringify(problems)).to.not.include('SECRET')
      }
    })

    function expectOne(push: object, input: string, says: RegExp): void {
      const [problem, ...furtherProblems] = problemsOf({ push }, { files: { '/etc/sidecar/given': input } })
      expect(furtherProblems).to.deep.equal([])
      expect(`${problem?.reason} ${problem?.remedy}`).to.match(says).and.not.include('SECRET')
    }
    const TAKEN_FOR_ANOTHER: readonly (readonly [
      what: string,
      text: string,
      push: (file: string) => object,
      says: RegExp,
    ])[] = [
      [
        'google-services.json',
        JSON.stringify({ project_info: { project_id: 'p' }, client: [{ api_key: [{ current_key: 'SECRET' }] }] }),
        (serviceAccountFile) => ({ fcm: { serviceAccountFile } }),
        /google-services\.json.*Service accounts.*Generate new private key/,
      ],
      [
        'an OAuth client',
        JSON.stringify({ installed: { client_secret: 'SECRET' } }),
        (serviceAccountFile) => ({ fcm: { serviceAccountFile } }),
        /OAuth client.*Service accounts/,
      ],
      [
        'an RSA key',
        rsa,
        (keyFile) => ({ apns: { ...apns, keyFile } }),
        /another kind \(rsa\).*Apple developer account/,
      ],
    ]
    for (const [caseName, text, push, says] of TAKEN_FOR_ANOTHER)
      it(`explains where to get push credentials if the configured file is ${caseName}`, () =>
        expectOne(push('given'), text, says))

    it('reports a certificate in place of a key, and CA certificates joined on one line', async () => {
      const { cert } = (await makeCertificates()).server
      expectOne({ apns: { ...apns, keyFile: 'given' } }, cert, /is a certificate, not the .p8 signing key.*Keys/)
      expectOne({ fcm: { caFile: 'given' } }, cert.trimEnd() + cert, /joined without a line break.*line of its own/)
    })

    const subjected = (subject: string) => ({ webpush: { subject } })
    const PUSHES: readonly (readonly [string, object, ...(readonly string[])])[] = [
      ['a signing key on another curve', { apns: { ...apns, keyFile: 'p384.p8' } }, 'push.apns.keyFile'],
      [
        'CA files that hold no certificate',
        { fcm: { caFile: 'account.json' }, apns: { ...apns, caFile: 'gone.pem' } },
        'push.fcm.caFile',
        'push.apns.caFile',
      ],
      ...['http://h:1', 'https://h:1/path', 'https://u:p@h:1', 'https://h?x', 'https://h:99999', 'h:1', 'nonsense'].map(
        (endpoint) => [`the FCM endpoint ${endpoint}`, { fcm: { endpoint } }, 'push.fcm.endpoint'] as const,
      ),
      ...['', 'operator@example.org', 'mailto:', 'mailto: a@b.org', 'http://example.org', 'https://localhost/x']
        .concat('https://example.org:99999/', 'mailto:root@localhost', 'mailto:root@raspberrypi', 'mailto:me@box.local')
        .concat('mailto:me@[192.168.1.2]', 'https://192.168.1.2/x', 'https://[::1]/x', 'https://nas.internal/x')
        .map((subject) => {
          const name = `the Web Push subject ${JSON.stringify(subject)}`
          return [name, subjected(subject), 'push.webpush.subject'] as const
        }),
      ...['mailto:operator@example.org', 'https://example.org/contact'].map(
        (subject) => [`the Web Push subject ${subject}`, subjected(subject)] as const,
      ),
    ]
    // Shows: sidecar C1.28.
    for (const [title, push, ...paths] of PUSHES)
      it(`${paths.length > 0 ? 'refuses' : 'accepts'} ${title}`, () =>
        expect(pushing(push).map(({ path }) => path)).to.deep.equal(paths))

    // Shows: sidecar O1.18.
    for (const id of ['ABC', 'ABC12345678', 'abc1234567', 'ABC-123456'])
      it(`refuses ${id} as a key id or team id of Apple`, () => {
        const problems = pushing({ apns: { ...apns, keyId: id, teamId: id } })
        expect(problems.map(({ path }) => path)).to.deep.equal(['push.apns.keyId', 'push.apns.teamId'])
        expect(problems[0]?.remedy).to.include('10 capital letters and digits')
      })

    // Shows: sidecar C14.12.
    it('accepts a missing VAPID key file, and refuses a damaged one without quoting it', () => {
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
      expect(problem?.remedy).to.include('subscribe again')
      expect(JSON.stringify(problem)).to.not.include(keys.privateKey.slice(0, 10))
      expect(checked('damaged', { webpush: { ...webpush, keyFile: 'gone.json' } })).to.deep.equal([])
      expect(checked('damaged', {})).to.deep.equal([])
    })
  })
})
