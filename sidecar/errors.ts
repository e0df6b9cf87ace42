/**
 * Every way in which the API refuses a request: the code on the wire (never renamed or reused), its HTTP status, and
 * what the client's developer reads: what is wrong and what to do.
 */
export const API_ERRORS = {
  invalid_request: { status: 400, message: 'The request is not what this call takes; details says where.' },
  wrong_passcode: { status: 403, message: 'auth is not the APRS passcode of this callsign.' },
  reserved: {
    status: 403,
    message: 'This call is that of a service, of bulletins or of the server itself: no station can have it.',
  },
  not_registered: { status: 404, message: 'This station is not registered; call /v1/register first.' },
  not_found: {
    status: 404,
    message: 'There is no such call; there are /v1/register, /v1/sync, /v1/avatars and /v1/unregister.',
  },
  method_not_allowed: { status: 405, message: 'This call takes another method: the header Allow says which one.' },
  too_large: {
    status: 413,
    message: 'The request is too large: a body has at most 65536 bytes, and all headers together 16384.',
  },
  unsupported_media_type: {
    status: 415,
    message: 'The body must be application/json in UTF-8, without a content encoding.',
  },
  internal: { status: 500, message: 'Something went wrong in the server; try again later.' },
  full: { status: 503, message: 'The server has no room for another station; try again later.' },
} as const satisfies Readonly<Record<string, { readonly status: number; readonly message: string }>>
export type ApiErrorCode = keyof typeof API_ERRORS

/** One mistake in a request body: JSON path, and a sentence. */
export interface ErrorDetail {
  readonly path: string
  readonly reason: string
}

/** Ends a request with an error answer. Its `message` is the table's; a `cause` goes to the log only. */
export class ApiError extends Error {
  readonly code: ApiErrorCode
  readonly details: readonly ErrorDetail[]

  constructor(code: ApiErrorCode, details: readonly ErrorDetail[] = []) {
    super(API_ERRORS[code].message)
    this.name = 'ApiError'
    this.code = code
    this.details = details
  }
}
