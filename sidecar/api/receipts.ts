import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** What becomes of an answer on its way. */
export interface Delivery {
  /** Its last byte has left us. */
  sent(): void
  /** It has, and the connection ended as it does when the answer does not arrive. */
  lost(): void
}

/**
 * Watches whether answers arrive. That the last byte of one has left us is not that yet, where phones lose the network: who has it asks
 * something else on the connection, or takes leave. Who has not lets it break, or be given up for want of a sign.
 */
export interface Receipts {
  /** A request has come on `connection`: the client has the answer before it. */
  asked(connection: Socket): void
  /** Tells `delivery` what becomes of the answer that `response` is about to send on `connection`. */
  watch(connection: Socket, response: ServerResponse, delivery: Delivery): void
}

interface Unconfirmed {
  readonly lost: () => void
  /** We end the connection behind the answer ourselves, as the client wished. */
  readonly last: boolean
}

/** While `isClosing`, connections end for no fault of theirs. */
export function createReceipts(isClosing: () => boolean): Receipts {
  const unconfirmed = new WeakMap<Socket, Unconfirmed>()
  const watched = new WeakSet<Socket>()

  const asked = (connection: Socket): void => void unconfirmed.delete(connection)

  function ended(connection: Socket, hadError: boolean): void {
    const answer = unconfirmed.get(connection)
    if (answer && !isClosing() && (hadError || !answer.last)) answer.lost()
  }

  return {
    asked,
    watch(connection, response, { sent, lost }) {
      const last = !response.shouldKeepAlive
      response.once('finish', () => {
        sent()
        unconfirmed.set(connection, { lost, last })
      })
      if (watched.has(connection)) return
      watched.add(connection)
      connection.once('end', () => asked(connection))
      connection.once('close', (hadError) => ended(connection, hadError))
    },
  }
}
