import type { ApiErrorCode, ErrorDetail } from '../errors.ts'

/**
 * Whether the same request may succeed later (`temporary`) or will always fail (`permanent`), by the API's error code.
 */
const API_CODES: Readonly<Record<ApiErrorCode, 'temporary' | 'permanent'>> = {
  invalid_request: 'permanent',
  wrong_passcode: 'permanent',
  wrong_token: 'permanent',
  reserved: 'permanent',
  devices_full: 'permanent',
  not_registered: 'permanent',
  not_found: 'permanent',
  method_not_allowed: 'permanent',
  too_large: 'permanent',
  unsupported_media_type: 'permanent',
  internal: 'temporary',
  full: 'temporary',
  overloaded: 'temporary',
}

/**
 * An error code of the API, or of the client:
 * - `unreachable`: no answer arrived, for example because of a rate limit.
 * - `bad_answer`: another server answered, such as a proxy.
 * - `closed`: the app closed the client.
 */
export type ClientErrorCode = ApiErrorCode | 'unreachable' | 'bad_answer' | 'closed'

/** The error of a failed request. The promise of the request rejects with it. */
export class ClientError extends Error {
  readonly code: ClientErrorCode
  /** The mistakes in the request, each with its JSON path. */
  readonly details: readonly ErrorDetail[]

  constructor(code: ClientErrorCode, message: string, options?: ErrorOptions & { details?: readonly ErrorDetail[] }) {
    super(message, options)
    this.name = 'ClientError'
    this.code = code
    this.details = options?.details ?? []
  }

  /** Whether the same request may succeed later. */
  get passing(): boolean {
    const { code } = this
    return code === 'unreachable' || code === 'bad_answer' || (isApiCode(code) && API_CODES[code] === 'temporary')
  }
}

export function closedError(): ClientError {
  return new ClientError('closed', 'The client was closed.')
}

/** Returns whether `code` is one of the API's error codes. */
export function isApiCode(code: unknown): code is ApiErrorCode {
  return typeof code === 'string' && Object.hasOwn(API_CODES, code)
}
