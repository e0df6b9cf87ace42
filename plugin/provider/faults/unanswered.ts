import { LoginError } from '../../errors.ts'
import { causeCode, causes } from '../../log.ts'
import { ForbiddenExchange } from '../http/limited-fetch.ts'
import { UnansweredRequest } from '../http/noted-exchange.ts'

/** No connection, no answer in time, or too much of it. Undefined: it is something else. */
export function unanswered(error: unknown): LoginError | undefined {
  const chain = causes(error)
  const code = chain.map(codeOf).find((found) => found !== undefined)
  if (code === undefined) return undefined
  const exchange = chain.find((cause) => cause instanceof UnansweredRequest)?.exchange
  const isLost = exchange?.endpoint === 'token_endpoint' && LOST.has(code)
  const details = { ...exchange, causeCode: code }
  return new LoginError('provider_unreachable', { cause: error, details, ...(isLost ? { remedy: LOST_ANSWER } : {}) })
}

/** The IdP may have got the request, and may have answered it. All others came before that. */
const LOST: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'TIMEOUT', 'NETWORK', 'UND_ERR_SOCKET'])
const LOST_ANSWER =
  'The answer of the token endpoint was lost (`causeCode`). The request was not repeated, because the IdP may have used up its code or refresh token: the user has to sign in again then. If this recurs, check the IdP, the proxies before it and their time limits.'

/**
 * Whether an error is about an answer of the token endpoint that was lost on its way: codes and refresh tokens may be
 * used up.
 */
export function isLostAnswer(error: unknown): boolean {
  return error instanceof LoginError && error.message === LOST_ANSWER
}

/**
 * Whether a request got no answer at all: no connection came about, it was lost, or the time was up. What has a status
 * was answered.
 */
export function gotNoAnswer(error: unknown): boolean {
  return causes(error).some((cause) => !(cause instanceof ForbiddenExchange) && codeOf(cause) !== undefined)
}

function codeOf(cause: Error): string | undefined {
  if (cause instanceof ForbiddenExchange) return cause.code
  if (cause instanceof DOMException && (cause.name === 'TimeoutError' || cause.name === 'AbortError')) return 'TIMEOUT'
  // How `fetch` reports that no connection came about.
  if (cause instanceof TypeError && cause.cause instanceof Error) return causeCode(cause) ?? 'NETWORK'
  return undefined
}
