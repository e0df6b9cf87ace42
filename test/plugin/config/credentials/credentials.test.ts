import { execFileSync } from 'node:child_process'
import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { expect } from 'chai'
import { calculateJwkThumbprint } from 'jose'
import { makeClientCertificate } from '../../../../fixtures/certificate.ts'
import type { DomainReading } from '../../../../plugin/config/read.ts'
import { readDomains } from '../../../../plugin/mount/read-domains.ts'
import { type Jwk, type KeyKind, makeKey, PRIVATE_MEMBERS } from '../../../support/client-keys.ts'
import { readDocument } from '../../../support/documents.ts'
import { MINIMAL, serverWith } from '../single-domain.ts'

/** Readable files by name. Any other name cannot be read. */
type Files = Readonly<Record<string, string>>

/** Reads a minimal domain with these credentials in the configuration, or as the option `credentials`. */
function readWith(raw: unknown, files: Files, { option, now }: { option?: unknown; now?: number } = {}): DomainReading {
  const config = serverWith(MINIMAL) as { domains: { '': object } }
  const domains = { '': { ...config.domains[''], ...(raw === undefined ? {} : { oidcCredentials: raw }) } }
  const [reading] = readDomains(
    { ...config, domains },
    {
      readFile: (file) => {
        const text = files[file]
        if (text === undefined) throw Object.assign(new Error(`no such file: ${file}`), { code: 'ENOENT' })
        return text
      },
      ...(option === undefined ? {} : { credentials: option as Record<string, object> }),
      ...(now === undefined ? {} : { now }),
    },
  ).domains
  if (!reading) throw new Error('no domain was read')
  return reading
}
const keySet = (...keys: readonly unknown[]) => JSON.stringify({ keys })
const readKeys = (...keys: readonly unknown[]) => readWith({ jwksFile: 'keys' }, { keys: keySet(...keys) })
const problemsOf = ({ problems }: DomainReading) =>
  problems.map(({ path, reason }) => `${path.replace('domains[""].oidcCredentials', '…')} ${reason}`)

describe('keys and certificate of a client', () => {
  it('a domain configured without credentials has no keys and no certificate', () => {
    expect(readWith(undefined, {}).settings?.credentials).to.deep.equal({ keys: [], certificate: null })
    expect(readWith({}, {}).settings?.credentials).to.deep.equal({ keys: [], certificate: null })
  })

  it("reads jwksFile in any letter case; the host's option credentials overrides it", () => {
    const [configured, optional] = [makeKey('P-256'), makeKey('P-256')]
    const files = { one: keySet(configured.private), other: keySet(optional.private) }
    const x = (reading: DomainReading) => reading.settings?.credentials.keys[0]?.publicJwk.x
    expect(x(readWith({ JWKSfile: 'one' }, files))).to.equal(configured.public.x)
    expect(x(readWith({ jwksFile: 'one' }, files, { option: { '': { jwksFile: 'other' } } }))).to.equal(
      optional.public.x,
    )
    expect(x(readWith({ jwksFile: 'one' }, files, { option: { b: { jwksFile: 'other' } } }))).to.equal(
      configured.public.x,
    )
  })

  it('reads credentials from a configuration with lower-case member names', () => {
    const config = serverWith(MINIMAL) as { domains: { '': object } }
    const domains = { '': { ...config.domains[''], oidccredentials: { jwksfile: 'keys' } } }
    const readFile = () => keySet(makeKey('Ed25519').private)
    expect(readDomains({ ...config, domains }, { readFile }).domains[0]?.settings?.credentials.keys).to.have.length(1)
  })

  it("derives from a key's type, use and alg which algorithms it can sign and decrypt", () => {
    const can = (kind: KeyKind, members = {}) => {
      const key = readKeys(makeKey(kind, members).private).settings?.credentials.keys[0]
      return { signs: key?.signs, decrypts: key?.decrypts }
    }
    const ECDH = ['ECDH-ES', 'ECDH-ES+A128KW', 'ECDH-ES+A192KW', 'ECDH-ES+A256KW']
    expect(can('P-384')).to.deep.equal({ signs: ['ES384'], decrypts: ECDH })
    expect(can('P-256', { use: 'sig' })).to.deep.equal({ signs: ['ES256'], decrypts: [] })
    expect(can('P-521', { use: 'enc' })).to.deep.equal({ signs: [], decrypts: ECDH })
    expect(can('P-256', { alg: 'ECDH-ES' })).to.deep.equal({ signs: [], decrypts: ['ECDH-ES'] })
    expect(can('Ed25519')).to.deep.equal({ signs: ['EdDSA', 'Ed25519'], decrypts: [] })
    expect(can('X25519')).to.deep.equal({ signs: [], decrypts: ECDH })
    expect(can('RSA', { alg: 'PS256' })).to.deep.equal({ signs: ['PS256'], decrypts: [] })
    expect(can('RSA', { use: 'enc' }).decrypts).to.include.members(['RSA-OAEP', 'RSA-OAEP-256'])
    expect(can('RSA').signs?.[0]).to.equal('RS256')
  })

  it('publishes only public members of a key, even if the file has additional ones', () => {
    const pair = makeKey('RSA', { kid: 'k', use: 'sig', alg: 'RS256' })
    const key = readKeys({ ...pair.private, note: 'x', k: 'a-secret' }).settings?.credentials.keys[0]
    expect(key?.publicJwk).to.deep.equal(pair.public)
    expect(Object.keys(key?.publicJwk ?? {})).to.not.include.members(PRIVATE_MEMBERS)
  })

  it('if a key has no kid, the key set uses its thumbprint, and signatures have no kid', async () => {
    for (const kind of ['RSA', 'P-256', 'Ed25519', 'X25519'] as const) {
      const pair = makeKey(kind)
      const key = readKeys(pair.private).settings?.credentials.keys[0]
      expect(key?.kid).to.equal(null)
      expect(key?.publicJwk.kid).to.equal(await calculateJwkThumbprint(pair.public))
    }
  })

  it('accepts the client keys that the documented command generates', () => {
    const page = readDocument('plugin/docs/keys.md')
    const script = /umask 077 && node -e '([^']+)' > oidc-keys\.json/.exec(page)?.[1]
    const keys = execFileSync(process.execPath, ['-e', script!], { encoding: 'utf8' })
    const parsedKeys = readWith({ jwksFile: 'keys' }, { keys }).settings?.credentials.keys
    expect(parsedKeys?.map(({ signs, decrypts }) => [signs.length > 0, decrypts.length > 0])).to.deep.equal([
      [true, false],
      [false, true],
    ])
  })

  it('reports every mistake in a key set with its path, without quoting the keys', () => {
    const { private: ec } = makeKey('P-256', { kid: 'a' })
    const secondKey = makeKey('P-256').private
    const { d: _d, ...publicHalf } = ec
    const reading = readKeys(
      publicHalf,
      { ...ec, kid: 'b', use: 'signature' },
      { ...ec, kid: 'c', alg: 'RS256' },
      { ...ec, kid: 'd', use: 'enc', alg: 'ES256' },
      { ...ec, kid: 'e', d: secondKey.d },
      { ...makeKey('X25519').private, kid: 'f', use: 'sig' },
      { kty: 'oct', k: 'c2VjcmV0', kid: 'g' },
      { ...ec, kid: 'h', crv: 'secp256k1' },
      'not-a-key',
      secondKey,
      { ...ec, kid: 'b' },
      { ...ec, kid: 7 },
    )
    expect(problemsOf(reading)).to.have.members([
      '….jwksFile.keys[0].d is missing: this is a public key',
      '….jwksFile.keys[1].use must be sig or enc',
      '….jwksFile.keys[2].alg does not fit this key',
      '….jwksFile.keys[3].alg does not fit this key',
      '….jwksFile.keys[4] is not a usable private key',
      '….jwksFile.keys[5].use does not fit this type of key',
      '….jwksFile.keys[6].kty is not supported',
      '….jwksFile.keys[7].crv is not supported',
      '….jwksFile.keys[8] must be an object',
      '….jwksFile.keys[8].kid is missing, but there are several keys',
      '….jwksFile.keys[9].kid is missing, but there are several keys',
      '….jwksFile.keys[10].kid is also the id of another key',
      '….jwksFile.keys[11].kid must be a non-empty string',
    ])
    const text = JSON.stringify(reading)
    for (const secret of [ec.d, secondKey.d, 'c2VjcmV0', 'not-a-key']) expect(text).to.not.include(secret)
    expect(reading.settings).to.equal(null)
  })

  it('refuses RSA keys shorter than 2048 bits', () => {
    const short = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export({ format: 'jwk' })
    expect(problemsOf(readKeys(short))).to.deep.equal(['….jwksFile.keys[0].n has fewer than 2048 bits'])
  })

  it('refuses a jwksFile that contains no key set', () => {
    const notKeySets = ['[]', '{"keys":[]}', '{"keys":{}}', 'null'].map((text) => [text, 'without keys'] as const)
    for (const [text, reason] of [['{"keys": [secret', 'that is not JSON'], ...notKeySets] as const) {
      const reading = readWith({ jwksFile: 'keys' }, { keys: text })
      expect(problemsOf(reading)).to.deep.equal([`….jwksFile names a file ${reason}`])
      expect(JSON.stringify(reading)).to.not.include('[secret')
    }
  })

  it("reports the system's error code if a credential file cannot be read", () => {
    const reading = readWith({ jwksFile: 'gone', tlsCertFile: 'gone2', tlsKeyFile: 'gone3' }, {})
    const members = ['jwksFile', 'tlsCertFile', 'tlsKeyFile']
    expect(problemsOf(reading)).to.deep.equal(
      members.map((name) => `….${name} names a file that cannot be read (ENOENT)`),
    )
  })

  it('names the option readFile if credential files are configured without that option', () => {
    const config = serverWith(MINIMAL) as { domains: { '': object } }
    const files = { jwksFile: 'keys', tlsCertFile: 'cert', tlsKeyFile: 'key' }
    const domains = { '': { ...config.domains[''], oidcCredentials: files } }
    const [reading] = readDomains({ ...config, domains }).domains
    expect(reading?.problems.map(({ reason }) => reason)).to.deep.equal(
      Object.keys(files).map(() => 'names a file, but `readDomains` was called without the option `readFile`'),
    )
    expect(reading?.problems[0]?.remedy).to.match(/^Pass `readFile`/)
  })

  it('reports unknown members and wrong types of credentials, and a missing TLS file', () => {
    const reading = readWith({ jwksfiles: 'x', tlsCertFile: 'cert', TLSCERTFILE: 'cert', tlsKeyFile: 5 }, { cert: '' })
    expect(problemsOf(reading)).to.include.members([
      '….jwksfiles is not a known setting',
      '….tlsKeyFile must be the name of a file',
    ])
    expect(reading.problems[0]?.remedy).to.equal('Did you mean "jwksFile"?')
    expect(problemsOf(readWith({ tlsCertFile: 'cert' }, { cert: 'x' }))).to.include('….tlsKeyFile is missing')
    expect(problemsOf(readWith({ tlsKeyFile: 'key' }, { key: 'x' }))).to.include('….tlsCertFile is missing')
    expect(problemsOf(readWith('keys.json', {}))).to.deep.equal(['… must be an object'])
  })

  it('reports an error in the host option "credentials" under the path credentials[""]', () => {
    const { problems } = readWith(undefined, {}, { option: { '': { jwksFile: 'gone' } } })
    expect(problems.map(({ path }) => path)).to.deep.equal(['credentials[""].jwksFile'])
  })

  it("computes a certificate's thumbprint, and refuses the key of another certificate", async () => {
    const [pair, otherPair] = [await makeClientCertificate(), await makeClientCertificate()]
    const files = { cert: pair.cert, key: pair.key, foreign: otherPair.key, junk: 'hunter2' }
    const read = (tlsCertFile: string, tlsKeyFile: string) => readWith({ tlsCertFile, tlsKeyFile }, files)
    const { certificate } = read('cert', 'key').settings?.credentials ?? {}
    expect(certificate?.thumbprint).to.equal(
      Buffer.from(new X509Certificate(pair.cert).fingerprint256.replaceAll(':', ''), 'hex').toString('base64url'),
    )
    expect(problemsOf(read('cert', 'foreign'))).to.deep.equal(['….tlsKeyFile names the key of another certificate'])
    expect(problemsOf(read('junk', 'junk'))).to.deep.equal([
      '….tlsCertFile names a file without a certificate',
      '….tlsKeyFile names a file without a usable private key',
    ])
    expect(JSON.stringify(read('junk', 'junk'))).to.not.include('hunter2')
  })

  it('warns if the client certificate has expired', async () => {
    const { cert, key } = await makeClientCertificate({ expired: true })
    const reading = readWith({ tlsCertFile: 'cert', tlsKeyFile: 'key' }, { cert, key }, { now: Date.now() })
    expect(reading.warnings.map(({ code, path }) => [code, path])).to.deep.equal([
      ['certificate_expired', 'domains[""].oidcCredentials.tlsCertFile'],
    ])
    expect(reading.settings?.credentials.certificate?.cert).to.equal(cert)
  })
})

describe('keys and certificates that client settings require', () => {
  const rsa = makeKey('RSA', { kid: 'r', alg: 'PS256' }).private
  const enc = makeKey('P-256', { kid: 'e', use: 'enc' }).private
  const read = (members: object, keys?: readonly Jwk[]) =>
    readDomains(serverWith({ ...MINIMAL, client: { ...MINIMAL.client, ...members } }), {
      ...(keys ? { credentials: { '': { jwksFile: 'keys' } }, readFile: () => keySet(...keys) } : {}),
    }).domains[0]!

  for (const [title, members] of Object.entries<Readonly<Record<string, unknown>>>({
    'private_key_jwt at the token endpoint': { token_endpoint_auth_method: 'private_key_jwt' },
    'private_key_jwt at the introspection endpoint': { introspection_endpoint_auth_method: 'private_key_jwt' },
    'private_key_jwt at the revocation endpoint': { revocation_endpoint_auth_method: 'private_key_jwt' },
    'signed requests': { request_object_signing_alg: 'PS256' },
    'required signed requests': { require_signed_request_object: true },
    'encrypted ID tokens': { id_token_encrypted_response_alg: 'ECDH-ES+A256KW' },
    'encrypted UserInfo': { userinfo_encrypted_response_alg: 'ECDH-ES' },
  })) {
    it(`requires a private key for ${title}`, () => {
      const [name] = Object.keys(members)
      const { problems } = read(members)
      expect(problems.map(({ path }) => path)).to.deep.equal([`domains[""].authStrategies.oidc.client.${name}`])
      expect(problems[0]?.reason).to.match(
        /^needs a suitable private key for (signatures|decryption), but there is none$/,
      )
      expect(problems[0]?.remedy).to.include('oidcCredentials')
      expect(read(members, [rsa, enc]).problems).to.deep.equal([])
    })
  }

  it('refuses client keys that cannot sign or decrypt with the configured algorithms', () => {
    for (const members of [
      { request_object_signing_alg: 'RS256' },
      { request_object_signing_alg: 'ES256' },
      { token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_signing_alg: 'RS256' },
      { id_token_encrypted_response_alg: 'RSA-OAEP' },
    ]) {
      expect(read(members, [rsa, enc]).problems, JSON.stringify(members)).to.have.length(1)
    }
    expect(read({ token_endpoint_auth_method: 'private_key_jwt' }, [enc]).problems).to.have.length(1)
  })

  it('requires no private key if all algorithms use the client secret', () => {
    for (const members of [
      { request_object_signing_alg: 'HS256', request_object_encryption_alg: 'dir' },
      { id_token_encrypted_response_alg: 'A256KW' },
      { userinfo_encrypted_response_alg: 'dir' },
      { token_endpoint_auth_method: 'client_secret_jwt', token_endpoint_auth_signing_alg: 'HS512' },
    ]) {
      expect(read(members).problems, JSON.stringify(members)).to.deep.equal([])
    }
  })

  it('requires a client certificate for bound access tokens and TLS authentication', () => {
    for (const members of [
      { tls_client_certificate_bound_access_tokens: true },
      { token_endpoint_auth_method: 'tls_client_auth' },
      { token_endpoint_auth_method: 'self_signed_tls_client_auth' },
    ]) {
      const { problems } = read(members, [rsa])
      expect(problems.map(({ path, reason }) => [path.split('.client.')[1], reason])).to.deep.equal([
        [Object.keys(members)[0], 'needs a client certificate, but there is none'],
      ])
    }
  })

  it('reports an unusable key file, but not the keys that are therefore missing', () => {
    const { problems } = read({ token_endpoint_auth_method: 'private_key_jwt' }, [])
    expect(problems.map(({ path }) => path)).to.deep.equal(['credentials[""].jwksFile'])
  })
})
