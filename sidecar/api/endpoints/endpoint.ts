import type { Body } from '../answers/answer.ts'
import type { Room } from '../answers/bytes-in-flight.ts'
import type { ClientAddress } from '../requests/client-address.ts'
import type { ClientLimit } from '../requests/over-limit.ts'

export type EndpointOutcome =
  /** `room`: what the answer has of the bytes in flight, given back once it was sent. */
  | { readonly kind: 'answer'; readonly body: Body; readonly room?: Room }
  /** The client is over a limit: its connection ends without a byte. Source: Errors. */
  | { readonly kind: 'drop'; readonly limit: ClientLimit }

/** One call of the API: a parsed body in, what to answer out. Throws {@link ApiError} for what the client did wrong. */
export type Endpoint = (body: unknown, client: ClientAddress) => Promise<EndpointOutcome>

export function answer(body: Body): EndpointOutcome {
  return { kind: 'answer', body }
}
