import { generateKeyPairSync, sign } from 'node:crypto'
import { expect } from 'chai'
import { base64url, CompactSign, createLocalJWKSet, exportJWK, generateKeyPair, type JWK } from 'jose'
import { verifySignature } from '../../../../plugin/provider/protection/signature.ts'
import { errorOf } from '../../../support/error-of.ts'

interface Signer {
  readonly jwk: JWK
  sign(header?: object, payload?: string): Promise<string>
}

async function signer(alg: string, kid: string): Promise<Signer> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  return {
    jwk: { ...(await exportJWK(publicKey)), kid, use: 'sig' },
    sign: (header = {}, payload = '{"sub":"alice"}') =>
      new CompactSign(new TextEncoder().encode(payload)).setProtectedHeader({ alg, kid, ...header }).sign(privateKey),
  }
}

const refused = async (token: string, keys: readonly JWK[], algorithm = 'RS256') => {
  const error = await errorOf(verifySignature(token, createLocalJWKSet({ keys: [...keys] }), algorithm))
  expect(error, token).to.have.property('code', 'id_token_invalid')
}

describe('signature of a token', () => {
  let first: Signer
  let second: Signer
  before(async () => {
    first = await signer('RS256', 'one')
    second = await signer('RS256', 'other')
  })

  for (const algorithm of ['RS256', 'RS384', 'RS512', 'PS256', 'ES256', 'EdDSA']) {
    it(`accepts a ${algorithm} signature by a key in the key set`, async () => {
      const { jwk, sign } = await signer(algorithm, 'one')
      await verifySignature(await sign(), createLocalJWKSet({ keys: [second.jwk, jwk] }), algorithm)
    })
  }

  it('accepts a signature without key id if one of several suitable keys verifies it', async () => {
    const keys = createLocalJWKSet({ keys: [second.jwk, first.jwk] })
    await verifySignature(await first.sign({ kid: undefined }), keys, 'RS256')
  })

  it('refuses a signature by a different key with the id of a published key', async () => {
    await refused(await second.sign({ kid: 'one' }), [first.jwk])
  })

  it('refuses a token with a changed header, payload or signature', async () => {
    const [header = '', payload = '', signature = ''] = (await first.sign()).split('.')
    const changed = base64url.encode('{"sub":"mallory"}')
    const otherHeader = base64url.encode('{"kid":"one","alg":"RS256"}')
    const otherSignature = (await first.sign({}, '{"sub":"bob"}')).split('.')[2] ?? ''
    for (const token of [
      `${header}.${changed}.${signature}`,
      `${otherHeader}.${payload}.${signature}`,
      `${header}.${payload}.${otherSignature}`,
      `${header}.${payload}.`,
      `${header}.${payload}`,
      `${header}.${payload}.${signature}.`,
      `${header}.${payload}.${signature.slice(0, 9)}!${signature.slice(9)}`,
      ` ${header}.${payload}.${signature}`,
    ])
      await refused(token, [first.jwk])
  })

  it('refuses a signature with another algorithm than expected', async () => {
    await refused(await first.sign(), [first.jwk], 'RS512')
    const { jwk, sign } = await signer('ES256', 'one')
    await refused(await sign(), [jwk], 'RS256')
  })

  it('refuses a token if its header requires an extension', async () => {
    const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true })
    const token = await new CompactSign(new TextEncoder().encode('{}'))
      .setProtectedHeader({ alg: 'RS256', kid: 'one', crit: ['exp'], exp: 1 })
      .sign(privateKey, { crit: { exp: true } })
    await refused(token, [{ ...(await exportJWK(publicKey)), kid: 'one' }])
  })

  it('refuses a signature whose key is missing, short, or for another use or algorithm', async () => {
    const token = await first.sign()
    const weak = await weakSigner()
    for (const change of [{ use: 'enc' }, { alg: 'RS512' }, { key_ops: ['encrypt'] }, { kid: 'another' }])
      await refused(token, [{ ...first.jwk, ...change }])
    await refused(weak.token, [weak.jwk])
  })
})

/** Signs with 1,024 bits. jose neither creates such a key nor signs with it. */
async function weakSigner(): Promise<{ readonly jwk: JWK; readonly token: string }> {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
  const signed = `${base64url.encode('{"alg":"RS256","kid":"weak"}')}.${base64url.encode('{"sub":"alice"}')}`
  const signature = sign('sha256', Buffer.from(signed), privateKey).toString('base64url')
  return { jwk: { ...(await exportJWK(publicKey)), kid: 'weak' }, token: `${signed}.${signature}` }
}
