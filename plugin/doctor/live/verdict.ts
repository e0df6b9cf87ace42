import { LoginError } from '../../errors.ts'
import { causeCode, printableText } from '../../log.ts'
import { reasonOf } from '../../provider/faults/reason.ts'
import { unanswered } from '../../provider/faults/unanswered.ts'
import { remedyForConnection } from './connection-remedies.ts'

/** What an IdP is asked while nobody signs in. */
export type Question =
  | 'discovery'
  | 'key set'
  | 'clock'
  | 'algorithms'
  | 'client authentication'
  | 'scopes'
  | 'response types'
  | 'PKCE'
  | 'client and redirect address'
  | 'secret or key'

/** The answer to one question, with what to do where it is not `ok`. No secret, and no text of the IdP that was not cleaned. */
export interface Verdict {
  readonly question: Question
  readonly verdict: 'ok' | 'warn' | 'fail'
  readonly text: string
}

/** A fault with its remedy, and with what is known of it in brackets. */
export function faultInWords(error: unknown): string {
  const fault = error instanceof LoginError ? error : new LoginError('internal', { cause: error })
  const code = unanswered(fault.cause)?.details.causeCode ?? causeCode(fault.cause)
  const remedy = typeof code === 'string' ? remedyForConnection(code) : undefined
  // What has a status was answered, and the answer says more.
  const isAnswered = 'status' in fault.details
  const isExplained = remedy !== undefined || isAnswered || fault.cause === undefined
  const details = {
    ...(code === undefined || isAnswered ? {} : { causeCode: code }),
    ...(isExplained ? {} : { reason: reasonOf(fault.cause) }),
    ...fault.details,
  }
  const known = Object.entries(details).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${textOf(value)}`],
  )
  return `${remedy ?? fault.message}${known.length > 0 ? ` [${known.join(', ')}]` : ''}`
}

function textOf(value: unknown): string {
  return printableText(typeof value === 'string' ? value : JSON.stringify(value))
}
