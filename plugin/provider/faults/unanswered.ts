import { LoginError } from '../../errors.ts'
import { causeCode, causes } from '../../log.ts'
import { ForbiddenExchange } from '../http/limited-fetch.ts'
import { UnansweredRequest } from '../http/noted-exchange.ts'

/** Translates the error of a request without an acceptable answer: no connection, too late, or too large. */
export function unanswered(error: unknown): LoginError | undefined {
  const chain = causes(error)
  const code = chain.map(codeOf).find((cause) => cause !== undefined)
  if (code === undefined) return undefined
  const exchange = chain.find((cause) => cause instanceof UnansweredRequest)?.exchange
  const isLost = exchange?.endpoint === 'token_endpoint' && LOST.has(code)
  const details = { ...exchange, causeCode: code }
  return new LoginError('provider_unreachable', { cause: error, details, ...(isLost ? { remedy: LOST_ANSWER } : {}) })
}

/** Error codes of requests that the IdP may have received and answered, although the response was lost. */
const LOST: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'TIMEOUT', 'NETWORK', 'UND_ERR_SOCKET'])
const LOST_ANSWER =
  'The answer of the token endpoint was lost (`causeCode`). The request was not repeated, because the IdP may have used up the code or refresh token; then the user must sign in again. If this recurs, check the IdP, the proxies in front of it and their time limits.'

/** Whether an answer of the token endpoint was lost on its way. The code or refresh token may then be used up. */
export function isLostAnswer(error: unknown): boolean {
  return error instanceof LoginError && error.message === LOST_ANSWER
}

/** Whether a request got no answer at all: no connection, a lost connection, or no answer in time. */
export function gotNoAnswer(error: unknown): boolean {
  return causes(error).some((cause) => !(cause instanceof ForbiddenExchange) && codeOf(cause) !== undefined)
}

function codeOf(cause: Error): string | undefined {
  if (cause instanceof ForbiddenExchange) return cause.code
  if (cause instanceof DOMException && (cause.name === 'TimeoutError' || cause.name === 'AbortError')) return 'TIMEOUT'
  // Node's `fetch` reports a failed connection as a TypeError with another error as its cause.
  if (cause instanceof TypeError && cause.cause instanceof Error) return causeCode(cause) ?? 'NETWORK'
  return undefined
}
