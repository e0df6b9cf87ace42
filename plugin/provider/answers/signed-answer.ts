import { decodeJwt, decodeProtectedHeader, type JWTPayload } from 'jose'
import type { ClientSettings } from '../../config/settings.ts'
import { LoginError } from '../../errors.ts'
import type { ClientIdentity } from '../authentication/client-signature.ts'
import { isSignedMode } from '../authorization/response-mode.ts'
import { decrypt, encryptionOf, isEncrypted } from '../protection/encryption.ts'

/** Tolerated difference between the clocks of this server and the IdP, in seconds. */
const TOLERANCE_S = 30

/** An authorization response, decrypted but not verified. */
export interface OpenedAnswer {
  /**
   * The `state` parameter, which identifies the login that the answer belongs to. Undefined if the answer has no state
   * or several.
   */
  readonly state: string | undefined
  /** The parameters as received from the browser. */
  readonly parameters: URLSearchParams
  /** The decrypted token of a signed answer (JARM), and its claims. Undefined if the answer is not signed. */
  readonly signed: { readonly token: string; readonly claims: JWTPayload } | undefined
}

/**
 * Decrypts a signed answer and reads the state, by which the caller finds the login. Verifies nothing.
 *
 * @throws LoginError `answer_invalid` if it cannot be opened
 */
export async function openAnswer(parameters: URLSearchParams, identity: ClientIdentity): Promise<OpenedAnswer> {
  // Read the state even of an unsigned answer that `verifiedParameters` will refuse, so that the refusal ends its
  // login.
  if (!isSignedMode(identity.client.response_mode) || !parameters.has('response')) {
    return { state: single(parameters, 'state'), parameters, signed: undefined }
  }
  const token = await openSigned(parameters, identity)
  const claims = claimsOf(token)
  const state = typeof claims.state === 'string' ? claims.state : undefined
  return { state, parameters, signed: { token, claims } }
}

/**
 * Returns the parameters of an answer. If the client requires signed answers, returns only those in the signed token.
 *
 * @param verify rejects if the IdP's signature of a token is wrong
 * @param nowS seconds since 1970
 * @throws LoginError `answer_invalid`, and the errors of `verify`
 */
export async function verifiedParameters(
  { parameters, signed }: OpenedAnswer,
  client: ClientSettings,
  issuer: string,
  verify: (token: string, algorithm: string) => Promise<void>,
  nowS: number,
): Promise<URLSearchParams> {
  if (!isSignedMode(client.response_mode)) return parameters
  if (!signed) throw notSigned(parameters)
  const { token, claims } = signed
  const algorithm = client.authorization_signed_response_alg
  if (algorithmOf(token) !== algorithm) {
    throw invalid(`it is signed with ${String(algorithmOf(token))}, but ${algorithm} was expected`)
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
  if (token === undefined) throw notSigned(answer)
  if (!encryption) {
    if (isEncrypted(token)) throw invalid('it is encrypted, but no encryption is configured')
    return token
  }
  // An encrypted answer is required, so refuse an unencrypted one. Others may have read it in transit.
  if (!isEncrypted(token)) throw invalid('it is not encrypted')
  return decrypt(token, encryption, identity).catch((error: unknown) => {
    throw new LoginError('answer_invalid', { cause: error, details: { reason: 'it cannot be decrypted' } })
  })
}

function claimsOf(token: string): JWTPayload {
  try {
    return decodeJwt(token)
  } catch (cause) {
    throw new LoginError('answer_invalid', { cause, details: { reason: '`response` is not a signed JWT' } })
  }
}

function algorithmOf(token: string): unknown {
  try {
    return decodeProtectedHeader(token).alg
  } catch {
    return undefined
  }
}

/**
 * Checks that the IdP issued the answer for this client, and that the answer has not expired. Source: JARM, section
 * 2.4.
 */
function objectionToAnswer({ iss, aud, exp }: JWTPayload, issuer: string, client: ClientSettings, nowS: number) {
  if (iss !== issuer) return 'iss names another IdP'
  if (aud !== client.client_id && !(Array.isArray(aud) && aud.includes(client.client_id))) {
    return 'aud names another client'
  }
  if (typeof exp !== 'number' || !Number.isFinite(exp)) return 'exp is missing'
  return exp + TOLERANCE_S <= nowS ? 'it has expired' : undefined
}

function single(answer: URLSearchParams, name: string): string | undefined {
  const [first, ...duplicates] = answer.getAll(name)
  return duplicates.length === 0 ? first : undefined
}

function notSigned(parameters: URLSearchParams): LoginError {
  const error = single(parameters, 'error')
  return invalid('it must have exactly one parameter `response`, a signed JWT', error === undefined ? {} : { error })
}

function invalid(reason: string, details: Readonly<Record<string, unknown>> = {}): LoginError {
  return new LoginError('answer_invalid', { details: { reason, ...details } })
}
