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
  return new LoginError('provider_unreachable', { cause: error, details: { ...exchange, causeCode: code } })
}

/** Whether a request got no answer at all: no connection came about, it was lost, or the time was up. What has a status was answered. */
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
