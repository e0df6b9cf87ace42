import type { Body } from '../answers/answer.ts'
import type { Reservation } from '../answers/bytes-in-flight.ts'
import type { ClientAddress } from '../requests/client-address.ts'
import type { ClientLimit } from '../requests/over-limit.ts'

export type EndpointOutcome =
  /** `reservation`: bytes in flight that are reserved for the answer, to be released once it was sent. */
  | { readonly kind: 'answer'; readonly body: Body; readonly reservation?: Reservation }
  /** The client is over a limit: its connection ends without an answer. Source: Errors. */
  | { readonly kind: 'drop'; readonly limit: ClientLimit }

/** One endpoint of the API: takes a parsed body, returns the answer. Throws {@link ApiError} for a client's mistake. */
export type Endpoint = (body: unknown, client: ClientAddress) => Promise<EndpointOutcome>

export function answer(body: Body): EndpointOutcome {
  return { kind: 'answer', body }
}
