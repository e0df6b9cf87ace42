import type { IncomingMessage, ServerResponse } from 'node:http'
import type { EncodedAnswer } from './answers/answer.ts'
import type { BytesInFlight, Reservation } from './answers/bytes-in-flight.ts'
import { createAnswerSender } from './answers/sender.ts'
import type { WriteDeadlines } from './answers/write-deadlines.ts'
import type { ClientAddress } from './requests/client-address.ts'
import type { OverLimit } from './requests/over-limit.ts'
import { trackUnanswered, type Unanswered } from './requests/unreadable.ts'
import { createTurnBatch } from './turn-batch.ts'

/** An answer that is ready to be sent. */
export interface ReadyAnswer {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly client: ClientAddress
  readonly status: number
  readonly encoded: EncodedAnswer
  /** The bytes in flight that the endpoint already reserved for this answer; undefined if it reserved none. */
  readonly reservation?: Reservation | undefined
}

interface AnswerQueueParts {
  readonly inFlight: BytesInFlight
  readonly deadlines: WriteDeadlines
  readonly overLimits: OverLimit
}

/**
 * Sends answers. Limits how many bytes slow clients leave unread, and for how long.
 *
 * The kernel nearly always accepts a whole answer at once. Until it does, the answer's size counts as bytes in flight,
 * and the answer has a deadline. A client that exceeds either limit loses its connection.
 */
export class AnswerQueue {
  readonly #inFlight: BytesInFlight
  readonly #deadlines: WriteDeadlines
  readonly #overLimits: OverLimit
  readonly #send = createAnswerSender()
  readonly unanswered: Unanswered = trackUnanswered()
  // Sending answers together takes a quarter less time: the kernel's code stays in the processor's cache, and the
  // receiver is woken less often.
  readonly #leaving = createTurnBatch<ReadyAnswer>((answer) => this.#deliver(answer))

  constructor({ inFlight, deadlines, overLimits }: AnswerQueueParts) {
    this.#inFlight = inFlight
    this.#deadlines = deadlines
    this.#overLimits = overLimits
  }

  add(answer: ReadyAnswer): void {
    this.#leaving.add(answer)
  }

  /**
   * Ensures that this turn of the event loop also sends the answers queued by work already planned for the turn's end.
   */
  runLast(): void {
    this.#leaving.runLast()
  }

  #deliver(answer: ReadyAnswer): void {
    const { request, response, status, encoded } = answer
    try {
      this.#send(response, status, encoded)
      this.unanswered.answered(request, response)
      if (!response.writableFinished) this.#watchUnread(answer)
    } catch {
      request.socket.destroy()
    }
  }

  #watchUnread({ response, client, encoded: { content }, reservation }: ReadyAnswer): void {
    const bytes = typeof content === 'string' ? content.length : content.bytes
    this.#deadlines.watch(response, bytes, () => this.#overLimits.refuse(client, 'unread_answers'))
    if (reservation) return
    const reserved = this.#inFlight.reserve(client, bytes)
    if (reserved) {
      releaseAfter(response, reserved)
    } else {
      this.#overLimits.refuse(client, 'unread_answers')
      response.destroy()
    }
  }
}

/**
 * Releases the bytes reserved for an answer when its response closes. If the client has already disconnected, releases
 * them at once.
 */
export function releaseAfter(response: ServerResponse, reservation: Reservation): void {
  if (response.closed) reservation.release()
  else response.once('close', () => reservation.release())
}
