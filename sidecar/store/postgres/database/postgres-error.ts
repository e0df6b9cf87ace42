import { TimeLimitError } from '../../../clock.ts'
import { StoreError, type StoreErrorCode } from '../../../errors.ts'

// SQLSTATEs (PostgreSQL, Appendix A) with a cause that the operator can fix. Two characters stand for a whole class.
const CODES: Readonly<Record<string, StoreErrorCode>> = {
  '25006': 'database_read_only',
  '26000': 'database_pooled', // the prepared statement is gone
  '28': 'database_refused',
  '28P01': 'database_password_wrong',
  '3D': 'database_missing',
  '3F000': 'database_right_missing', // the schema exists, but this user lacks the right to use it
  '42501': 'database_right_missing',
  '42703': 'database_incomplete',
  '42883': 'database_incomplete',
  '42P01': 'database_incomplete',
  '42P05': 'database_pooled', // another client of this session has prepared a statement with this name
  '53': 'store_overloaded',
  '53100': 'disk_full',
  '53300': 'database_refused',
  '55P03': 'database_unreachable',
  '57': 'database_unreachable',
  '58': 'disk_failing',
  XX001: 'database_corrupt',
  XX002: 'database_corrupt',
}

// Errors that only their text identifies. Those of `pg` have no code, and those of PgBouncer all have the code 08P01.
const WORDS: readonly (readonly [RegExp, StoreErrorCode])[] = [
  [/does not support SSL|establishing an SSL connection/, 'database_untrusted'],
  [/Connection terminated|timeout|not queryable/, 'database_unreachable'],
  [/client password must be/, 'database_password_missing'],
  [/password|SASL/, 'database_password_wrong'],
  [/no such database/, 'database_missing'],
  [/no such user/, 'database_role_missing'],
]

/**
 * Codes of PostgreSQL's errors for a refused user. They may be temporary, while an administrator configures the server.
 */
export const REFUSALS: ReadonlySet<StoreErrorCode> = new Set([
  'database_refused',
  'database_password_missing',
  'database_password_wrong',
  'database_role_missing',
  'database_missing',
  'database_right_missing',
])

/**
 * Translates an error of the database or its client for callers of the store. An unexpected error becomes a
 * `store_fault`.
 */
export function toStoreError(cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause
  return new StoreError(codeOf(cause) ?? 'store_fault', { cause })
}

function codeOf(error: unknown): StoreErrorCode | undefined {
  if (!(error instanceof Error)) return undefined
  if (error instanceof TimeLimitError) return 'database_unreachable'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  // With authentication methods other than passwords, PostgreSQL uses one code for all refusals. Only the text shows
  // that the user does not exist.
  if (code === '28000' && /^role .* does not exist$/.test(error.message)) return 'database_role_missing'
  const mapped = CODES[code] ?? (/^[0-9A-Z]{5}$/.test(code) ? CODES[code.slice(0, 2)] : undefined)
  if (mapped) return mapped
  // Node.js tried all addresses of a host name. The first address's error represents all of them.
  if (error instanceof AggregateError) return codeOf(error.errors[0])
  if (/^ERR_(SSL|TLS)|CERT|LEAF_SIGNATURE/.test(code)) return 'database_untrusted'
  // Socket errors of Node.js, including those for missing socket files.
  if (/^E(?!RR_)/.test(code)) return 'database_unreachable'
  const byWords = WORDS.find(([words]) => words.test(error.message))?.[1]
  return byWords ?? (code.startsWith('08') ? 'database_unreachable' : undefined)
}
