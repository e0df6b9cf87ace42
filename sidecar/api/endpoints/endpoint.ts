import type { Body } from '../answers/answer.ts'
import type { Reservation } from '../answers/bytes-in-flight.ts'
import type { ClientAddress } from '../requests/client-address.ts'
import type { ClientLimit } from '../requests/over-limit.ts'

export type EndpointOutcome =
  /** `reservation`: the bytes in flight reserved for the answer. They are released once the answer is sent. */
  | { readonly kind: 'answer'; readonly body: Body; readonly reservation?: Reservation }
  /** The client exceeds a limit, so its connection is closed without an answer. Source: Errors. */
  | { readonly kind: 'drop'; readonly limit: ClientLimit }

/**
 * An endpoint of the API. Handles one request, given its parsed body. Throws {@link ApiError} if the client made a
 * mistake.
 */
export type Endpoint = (body: unknown, client: ClientAddress) => Promise<EndpointOutcome>

export function answer(body: Body): EndpointOutcome {
  return { kind: 'answer', body }
}
