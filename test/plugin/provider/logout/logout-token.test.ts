import { expect } from 'chai'
import { SignJWT } from 'jose'
import { inspectLogoutToken } from '../../../../plugin/provider/logout/logout-token.ts'

const NOW_S = 1_900_000_000
const ISSUER = 'https://idp.example/realms/one'
const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
const HEADER = { alg: 'HS256' }

describe('content of a logout token', () => {
  const inspect = async (claims: object, issuer = ISSUER, header: { alg: string } = HEADER) => {
    const sound = { iss: ISSUER, aud: 'mesh', sub: 'u-1', iat: NOW_S - 60, jti: 'j', events: { [EVENT]: {} } }
    const token = await new SignJWT({ ...sound, ...claims }).setProtectedHeader(header).sign(new Uint8Array(32))
    return inspectLogoutToken(token, { issuer, clientId: 'mesh', algorithm: 'HS256' }, NOW_S)
  }

  it('a logout token names either all sessions of a user or one session', async () => {
    const expected = { issuer: ISSUER, jti: 'j', refusedFromS: NOW_S - 60 + 601 }
    expect(await inspect({ aud: ['other', 'mesh'] })).to.deep.equal({ ...expected, subject: 'u-1', sid: null })
    expect(await inspect({ sid: 's', nbf: NOW_S + 60 })).to.deep.equal({ ...expected, subject: 'u-1', sid: 's' })
    expect(await inspect({ sub: undefined, sid: 's' })).to.deep.equal({ ...expected, subject: null, sid: 's' })
  })

  const HERE = `this server's time is ${NOW_S}`
  for (const [condition, claims, reason] of [
    ['with another audience', { aud: 'other' }, 'aud names another client: received "other", expected "mesh"'],
    [
      'with several other audiences',
      { aud: ['other', 'mesh2'] },
      /^aud names another client: received \["other","mesh2"\]/,
    ],
    ['with an audience that contains ours', { aud: 'other mesh' }, /^aud /],
    ['without an audience', { aud: undefined }, /^aud names another client: received nothing/],
    ['with an audience longer than a line', { aud: 'x'.repeat(81) }, /^aud names another client: received "x{79}…/],
    [
      'with an audience of the maximum length shown',
      { aud: 'x'.repeat(78) },
      /^aud names another client: received "x{78}", expected/,
    ],
    [
      'of another issuer',
      { iss: 'https://a.b' },
      `iss names another IdP: received "https://a.b", expected "${ISSUER}"`,
    ],
    ['with an issuer that is no URL', { iss: 'evil' }, /^iss /],
    ['without an issuer', { iss: undefined }, /^iss /],
    ['that expires now', { exp: NOW_S }, `it has expired: exp is ${NOW_S}, ${HERE}`],
    ['with an invalid exp', { exp: 'tomorrow' }, 'exp is not a time: received "tomorrow"'],
    [
      'that is more than 10 minutes old',
      { iat: NOW_S - 601 },
      `iat is more than 10 minutes ago: received ${NOW_S - 601}, ${HERE}`,
    ],
    [
      'from more than a minute ahead',
      { iat: NOW_S + 61 },
      `iat is more than a minute ahead: received ${NOW_S + 61}, ${HERE}`,
    ],
    ['without iat', { iat: undefined }, 'iat is missing'],
    ['with iat as a string', { iat: String(NOW_S) }, `iat is not a time: received "${NOW_S}"`],
    ['that is not valid yet', { nbf: NOW_S + 61 }, `nbf is in the future: received ${NOW_S + 61}, ${HERE}`],
    ['with an invalid nbf', { nbf: '1' }, /^nbf is in the future: received "1"/],
    ['without jti', { jti: undefined }, 'jti is missing'],
    ['with jti null', { jti: null }, 'jti is not a non-empty string: received null'],
    ['with jti as a number', { jti: 7 }, 'jti is not a non-empty string: received a number'],
    ['with a nonce', { nonce: 'n' }, 'it has a nonce'],
    ['with a nonce of null', { nonce: null }, 'it has a nonce'],
    ['without sub and sid', { sub: undefined }, 'both sub and sid are missing'],
    ['with sub that is no string', { sub: { $gt: '' } }, 'sub is not a non-empty string: received an object'],
    ['with an empty sub', { sub: '' }, 'sub is not a non-empty string: received an empty string'],
    ['with sid that is no string', { sid: ['s'] }, 'sid is not a non-empty string: received an array'],
    ['without events', { events: undefined }, /^events does not contain a logout: received nothing/],
    ['with another event', { events: { x: {} } }, /^events does not contain a logout: received \["x"\]/],
    ['with a near miss of the event', { events: { [`${EVENT}/`]: {} } }, /^events /],
    ['with an event that is no object', { events: { [EVENT]: true } }, /^events /],
    ['with an event null', { events: { [EVENT]: null } }, /^events /],
    ['with an event that is an array', { events: { [EVENT]: [] } }, /^events /],
    ['with events as an array', { events: [EVENT] }, /^events does not contain a logout: received an array/],
  ] as const) {
    // Shows: plugin 10.20.
    it(`refuses a logout token ${condition}`, async () => {
      const outcome = await inspect(claims)
      if (typeof reason === 'string') expect(outcome).to.equal(reason)
      else expect(outcome).to.match(reason)
    })
  }

  it('refuses a logout token with a wrong typ or alg', async () => {
    for (const typ of ['logout+jwt', 'application/logout+jwt', 'JWT', undefined]) {
      expect(await inspect({}, ISSUER, { ...HEADER, typ } as never), typ).to.be.an('object')
    }
    for (const typ of ['at+jwt', 'secevent+jwt', 'xlogout+jwt', 'jwts', '', 7, ['JWT']]) {
      const reason = `typ belongs to another kind of token: received ${JSON.stringify(typ)}, expected logout+jwt or JWT`
      expect(await inspect({}, ISSUER, { ...HEADER, typ } as never)).to.equal(reason)
    }
    const rules = { issuer: ISSUER, clientId: 'mesh', algorithm: 'RS256' }
    const token = await new SignJWT({}).setProtectedHeader(HEADER).sign(new Uint8Array(32))
    expect(inspectLogoutToken(token, rules, NOW_S)).to.equal('it is not signed with RS256: alg is "HS256"')
    expect(inspectLogoutToken('a.b.c', rules, NOW_S)).to.equal('it is not a signed JWT')
  })

  it('a logout token is valid from a minute before its issue until 10 minutes after it', async () => {
    for (const iat of [NOW_S - 600, NOW_S + 60]) expect(await inspect({ iat })).to.be.an('object')
  })

  it('returns the iss of a logout token unchanged, with or without a final slash', async () => {
    for (const issuer of [ISSUER, `${ISSUER}/`, `${ISSUER}/.well-known/openid-configuration`]) {
      for (const iss of [ISSUER, `${ISSUER}/`]) expect(await inspect({ iss }, issuer)).to.include({ issuer: iss })
    }
  })

  it('a logout token is refused from its expiry, at the latest 10 minutes after issue', async () => {
    expect(await inspect({ exp: NOW_S + 30 })).to.include({ refusedFromS: NOW_S + 30 })
    expect(await inspect({ exp: NOW_S + 9999 })).to.include({ refusedFromS: NOW_S - 60 + 601 })
    expect(await inspect({})).to.include({ refusedFromS: NOW_S - 60 + 601 })
  })

  it('the reason why a logout token is refused contains no sid and no token', async () => {
    for (const claims of [{ sid: ['secret-1'] }, { nonce: 'secret-2' }, { jti: { text: 'secret-3' } }]) {
      const reason = await inspect(claims)
      expect(reason).to.be.a('string').and.not.include('secret-')
    }
  })
})
