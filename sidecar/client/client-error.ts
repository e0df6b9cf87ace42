import type { ApiErrorCode, ErrorDetail } from '../errors.ts'

/** Whether what the API refused now may be taken later. */
const API_CODES: Readonly<Record<ApiErrorCode, 'passing' | 'lasting'>> = {
  invalid_request: 'lasting',
  wrong_passcode: 'lasting',
  wrong_token: 'lasting',
  reserved: 'lasting',
  devices_full: 'lasting',
  not_registered: 'lasting',
  not_found: 'lasting',
  method_not_allowed: 'lasting',
  too_large: 'lasting',
  unsupported_media_type: 'lasting',
  internal: 'passing',
  full: 'passing',
  overloaded: 'passing',
}

/**
 * A code of the API, or of the client's own:
 * - `unreachable`: no answer, which is also what a rate limit looks like;
 * - `bad_answer`: something that is not the sidecar answered, such as a proxy or the login page of a network;
 * - `closed`: the client was closed meanwhile.
 */
export type ClientErrorCode = ApiErrorCode | 'unreachable' | 'bad_answer' | 'closed'

/** Why a call did not succeed. */
export class ClientError extends Error {
  readonly code: ClientErrorCode
  /** What is wrong with the request, by JSON path. */
  readonly details: readonly ErrorDetail[]

  constructor(code: ClientErrorCode, message: string, options?: ErrorOptions & { details?: readonly ErrorDetail[] }) {
    super(message, options)
    this.name = 'ClientError'
    this.code = code
    this.details = options?.details ?? []
  }

  /** Whether the same call may succeed later. */
  get passing(): boolean {
    const { code } = this
    return code === 'unreachable' || code === 'bad_answer' || (isApiCode(code) && API_CODES[code] === 'passing')
  }
}

export function closedError(): ClientError {
  return new ClientError('closed', 'The client was closed.')
}

/** Whether `code` is one that the API has. */
export function isApiCode(code: unknown): code is ApiErrorCode {
  return typeof code === 'string' && Object.hasOwn(API_CODES, code)
}
