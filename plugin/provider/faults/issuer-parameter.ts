import { LoginError } from '../../errors.ts'
import { causes, deepestMessage } from '../../log.ts'

/**
 * The issuer that an answer names for itself, beside any token: it keeps two IdPs of one server apart. Undefined: it is something else.
 * Source: RFC 9207, section 2.4.
 */
export function issuerParameterFault(error: unknown): LoginError | undefined {
  const fault = causes(error).find(
    ({ message }) => (message.includes('response parameter') && message.includes('"iss"')) || message === UNEXPECTED,
  )
  if (!fault) return undefined
  const { expected, parameters } = membersOf(fault.cause)
  const received = parameters instanceof URLSearchParams ? parameters.get('iss') : null
  return new LoginError('answer_issuer_invalid', {
    cause: error,
    details: {
      reason: deepestMessage(error),
      received: received ?? 'none',
      ...(typeof expected === 'string' ? { expected } : {}),
    },
  })
}

const UNEXPECTED = 'unexpected "iss" (issuer) response parameter value'

function membersOf(value: unknown): { readonly expected?: unknown; readonly parameters?: unknown } {
  return typeof value === 'object' && value !== null ? value : {}
}
