import { membersOf } from '../../config/json/json-object.ts'
import { LoginError } from '../../errors.ts'
import { causes, deepestMessage } from '../../log.ts'

/**
 * The issuer that an answer names for itself, beside any token: it keeps two IdPs of one server apart. Undefined: it is something else.
 * Source: RFC 9207, section 2.4.
 */
export function issuerParameterFault(error: unknown): LoginError | undefined {
  const fault = causes(error).find(isOfIssuer)
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

/** By what the library's error holds. The state, about which it holds as much, is in order: the login was found by it. */
function isOfIssuer(fault: Error): boolean {
  const { expected, parameters } = membersOf(fault.cause)
  if (membersOf(fault).code !== 'OAUTH_INVALID_RESPONSE' || !(parameters instanceof URLSearchParams)) return false
  const received = parameters.get('iss')
  return received === null ? expected === undefined && !parameters.has('response') : received !== expected
}
