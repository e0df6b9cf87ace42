import { decodeJwt, decodeProtectedHeader, type JWTPayload } from 'jose'
import type { ClientSettings } from '../../config/settings.ts'
import { LoginError } from '../../errors.ts'
import type { ClientIdentity } from '../authentication/client-signature.ts'
import { isSignedMode } from '../authorization/response-mode.ts'
import { decrypt, encryptionOf, isEncrypted } from '../protection/encryption.ts'

/** Clocks of two servers differ by less. */
const TOLERANCE_S = 30

/**
 * The state that an answer bears, before anything of it is verified: it tells which login it is about to be held
 * against. Undefined where there is none, or more than one.
 *
 * @throws LoginError `answer_invalid` where it is a token that cannot be opened
 */
export async function stateIn(answer: URLSearchParams, identity: ClientIdentity): Promise<string | undefined> {
  // One that is not signed has to be: it ends the login that it bears the state of, and its person reads so.
  if (!isSignedMode(identity.client.response_mode) || !answer.has('response')) return single(answer, 'state')
  const { state } = claimsOf(await openSigned(answer, identity))
  return typeof state === 'string' ? state : undefined
}

/**
 * The parameters of an answer. Where signed ones were asked for, nothing counts but what is in the signed token.
 *
 * @param verify rejects unless the token is signed by the IdP
 * @param nowS seconds since 1970
 * @throws LoginError `answer_invalid`, and what `verify` rejects with
 */
export async function parametersOf(
  answer: URLSearchParams,
  identity: ClientIdentity,
  issuer: string,
  verify: (token: string, algorithm: string) => Promise<void>,
  nowS: number,
): Promise<URLSearchParams> {
  const { client } = identity
  if (!isSignedMode(client.response_mode)) return answer
  const token = await openSigned(answer, identity)
  const claims = claimsOf(token)
  const algorithm = client.authorization_signed_response_alg
  if (algorithmOf(token) !== algorithm) {
    throw invalid(`it is signed with ${String(algorithmOf(token))}, and ${algorithm} was expected`)
  }
  await verify(token, algorithm)
  const objection = objectionToAnswer(claims, issuer, client, nowS)
  if (objection !== undefined) throw invalid(objection)
  const texts = Object.entries(claims).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  return new URLSearchParams(texts.filter(([name]) => name !== 'aud'))
}

async function openSigned(answer: URLSearchParams, identity: ClientIdentity): Promise<string> {
  const { authorization_encrypted_response_alg: alg, authorization_encrypted_response_enc: enc } = identity.client
  const encryption = encryptionOf(alg, enc)
  const token = single(answer, 'response')
  if (token === undefined) throw invalid('it is not signed, or there is more than one', answer)
  if (!encryption) {
    if (isEncrypted(token)) throw invalid('it is encrypted, and no encryption is configured')
    return token
  }
  // Anybody on the way could have read it.
  if (!isEncrypted(token)) throw invalid('it is not encrypted')
  return decrypt(token, encryption, identity).catch((error: unknown) => {
    throw new LoginError('answer_invalid', { cause: error, details: { reason: 'it cannot be decrypted' } })
  })
}

function claimsOf(token: string): JWTPayload {
  try {
    return decodeJwt(token)
  } catch (cause) {
    throw new LoginError('answer_invalid', { cause, details: { reason: '`response` is no signed JWT' } })
  }
}

function algorithmOf(token: string): unknown {
  try {
    return decodeProtectedHeader(token).alg
  } catch {
    return undefined
  }
}

/** Source: JARM, section 2.4. */
function objectionToAnswer({ iss, aud, exp }: JWTPayload, issuer: string, client: ClientSettings, nowS: number) {
  if (iss !== issuer) return 'iss names another IdP'
  if (aud !== client.client_id && !(Array.isArray(aud) && aud.includes(client.client_id))) {
    return 'aud names another client'
  }
  if (typeof exp !== 'number' || !Number.isFinite(exp)) return 'exp is missing'
  return exp + TOLERANCE_S <= nowS ? 'it has expired' : undefined
}

function single(answer: URLSearchParams, name: string): string | undefined {
  const [first, ...others] = answer.getAll(name)
  return others.length === 0 ? first : undefined
}

function invalid(reason: string, answer?: URLSearchParams): LoginError {
  const error = answer && single(answer, 'error')
  return new LoginError('answer_invalid', { details: { reason, ...(error === undefined ? {} : { error }) } })
}
