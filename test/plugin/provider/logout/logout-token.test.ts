import { expect } from 'chai'
import { SignJWT } from 'jose'
import { inspectLogoutToken } from '../../../../plugin/provider/logout/logout-token.ts'

const NOW_S = 1_900_000_000
const ISSUER = 'https://idp.example/realms/one'

describe('what a logout token says by itself', () => {
  const inspect = async (claims: object, issuer = ISSUER) => {
    const token = await new SignJWT({
      iss: ISSUER,
      aud: 'mesh',
      sub: 'u-1',
      iat: NOW_S - 60,
      jti: 'j',
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
      ...claims,
    })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(new Uint8Array(32))
    return inspectLogoutToken(token, { issuer, clientId: 'mesh', algorithm: 'HS256' }, NOW_S)
  }

  it('is the same however its issuer is written here: the published one decides later', async () => {
    for (const issuer of [ISSUER, `${ISSUER}/`, `${ISSUER}/.well-known/openid-configuration`]) {
      for (const iss of [ISSUER, `${ISSUER}/`]) expect(await inspect({ iss }, issuer)).to.include({ issuer: iss })
    }
  })

  it('is refused again from its expiry on, or from 10 minutes after it was made', async () => {
    expect(await inspect({ exp: NOW_S + 30 })).to.include({ refusedFromS: NOW_S + 30 })
    expect(await inspect({ exp: NOW_S + 9999 })).to.include({ refusedFromS: NOW_S - 60 + 601 })
    expect(await inspect({})).to.include({ refusedFromS: NOW_S - 60 + 601 })
  })

  it('is no reason to show a session id or a token in a log', async () => {
    for (const claims of [{ sid: ['secret-1'] }, { nonce: 'secret-2' }, { jti: { text: 'secret-3' } }]) {
      const reason = await inspect(claims)
      expect(reason).to.be.a('string').and.not.include('secret-')
    }
  })
})
