import { isJsonObject, membersOf } from '../config/json/json-object.ts'
import type { SessionTokens, SignIn, Tokens } from './port.ts'

/** The part of a login that every kind of session stores: all members except the tokens. */
export type SignInRecord = Omit<SignIn, 'idToken' | 'tokens'>

/**
 * Reads the record of a login. Checks it like any input, because stores and cookies are outside the plugin's control.
 *
 * @param subject cookie sessions may omit it from the record
 */
export function readRecord(value: unknown, subject = membersOf(value).subject): SignInRecord | undefined {
  if (!isJsonObject(value)) return undefined
  const { domainKey, userId, issuer, sid, startedAt } = value
  if (typeof domainKey !== 'string' || typeof issuer !== 'string' || typeof subject !== 'string') return undefined
  if ((sid !== null && typeof sid !== 'string') || !isUserId(userId)) return undefined
  if (typeof startedAt !== 'number' || !Number.isFinite(startedAt)) return undefined
  return { domainKey, userId, issuer, subject, sid, startedAt }
}

export function readTokens(value: unknown): Tokens | undefined {
  if (!isJsonObject(value)) return undefined
  const { access, accessExpiresAt, refresh, offline } = value
  if (typeof access !== 'string' || (refresh !== null && typeof refresh !== 'string')) return undefined
  if (accessExpiresAt !== null && typeof accessExpiresAt !== 'number') return undefined
  return { access, accessExpiresAt, refresh, ...(typeof offline === 'boolean' ? { offline } : {}) }
}

export const NO_TOKENS: SessionTokens = { idToken: null, tokens: null }

export function readSessionTokens(value: unknown): SessionTokens {
  if (!isJsonObject(value)) return NO_TOKENS
  const { idToken, tokens, renewedAt } = value
  return {
    idToken: typeof idToken === 'string' ? idToken : null,
    tokens: readTokens(tokens) ?? null,
    ...(typeof renewedAt === 'number' ? { renewedAt } : {}),
  }
}

function isUserId(value: unknown): value is SignIn['userId'] {
  return typeof value === 'string' && value.startsWith('~oidc:') && value.length > '~oidc:'.length
}
