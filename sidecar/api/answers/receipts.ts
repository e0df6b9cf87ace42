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
 * something else on the connection, or takes leave. Who has not lets it break, or be given up for want of a sign; or took leave before
 * the answer left, as when this process stood still for longer than the client waits.
 */
export interface Receipts {
  /** A request has come on `connection`: the client has the answer before it. */
  asked(connection: Socket): void
  /** Tells `delivery` what becomes of the answer that `response` has just been given to send on `connection`. */
  watch(connection: Socket, response: ServerResponse, delivery: Delivery): void
}

/** What goes out on a connection. */
interface Outgoing {
  /** The answer that has left us, until there is a sign that it arrived. */
  unconfirmed: Delivery | undefined
  /** We end the connection behind that answer ourselves, as the client wished. */
  last: boolean
  /** In which turn of the event loop that answer has left us. */
  leftIn: number
  /** The client took leave before it can have had that answer. */
  early: boolean
}

/** While `isClosing`, it is we who end connections that are fine. */
export function createReceipts(isClosing: () => boolean): Receipts {
  // One object for each connection: requests come by the ten thousand a second.
  const connections = new WeakMap<Socket, Outgoing>()
  /** Of the event loop; counted behind answers only. */
  let turn = 0
  let counting = false

  function outgoingOn(connection: Socket): Outgoing {
    const known = connections.get(connection)
    if (known) return known
    const outgoing: Outgoing = { unconfirmed: undefined, last: false, leftIn: 0, early: false }
    connections.set(connection, outgoing)
    connection.once('end', () => {
      // Answers leave at the end of a turn: what is read first thing in the next one was there before they left.
      if (turn === outgoing.leftIn) outgoing.early = true
      else confirm(outgoing)
    })
    connection.once('close', (hadError) => ended(outgoing, hadError))
    return outgoing
  }

  function countTurn(): void {
    if (counting) return
    counting = true
    setImmediate(() => {
      counting = false
      turn += 1
    })
  }

  function ended({ unconfirmed, last, early }: Outgoing, hadError: boolean): void {
    // What the client did counts whoever ends the connection: where we are slow, it often gives up just before we close.
    if (hadError || early || (!last && !isClosing())) unconfirmed?.lost()
  }

  return {
    asked(connection) {
      const outgoing = connections.get(connection)
      if (outgoing) confirm(outgoing)
    },
    watch(connection, response, delivery) {
      const outgoing = outgoingOn(connection)
      const last = !response.shouldKeepAlive
      const left = () => {
        delivery.sent()
        outgoing.unconfirmed = delivery
        outgoing.last = last
        outgoing.leftIn = turn
        outgoing.early = connection.readableEnded
        countTurn()
      }
      // Mostly the system has taken all of it by now, and a listener for each answer costs more than looking.
      if (response.writableFinished && !connection.destroyed) left()
      else response.once('finish', left)
    },
  }
}

function confirm(outgoing: Outgoing): void {
  outgoing.unconfirmed = undefined
}
