import type { Body } from '../answers/answer.ts'
import type { ClientAddress } from '../requests/client-address.ts'

export type CallOutcome =
  | { readonly kind: 'answer'; readonly body: Body }
  /** The client is over a limit: its connection ends without a byte. Source: Errors. */
  | { readonly kind: 'drop' }

/** One call of the API: a parsed body in, what to answer out. Throws {@link ApiError} for what the client did wrong. */
export type Call = (body: unknown, client: ClientAddress) => Promise<CallOutcome>

export function answer(body: Body): CallOutcome {
  return { kind: 'answer', body }
}
