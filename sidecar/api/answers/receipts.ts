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
 * the answer left, as when this process stood still for longer than the client waits. Who asks without waiting for answers
 * (pipelining; RFC 9112, section 9.3.2) gives no sign by asking.
 */
export interface Receipts {
  /**
   * A request has come on `connection`: the client has the answers before it, unless it does not wait for them, as when an earlier
   * request is `unanswered`.
   */
  asked(connection: Socket, unanswered: boolean): void
  /** Tells `delivery` what becomes of the answer that `response` has just been given to send on `connection`. */
  watch(connection: Socket, response: ServerResponse, delivery: Delivery): void
}

/** What goes out on a connection. */
interface Outgoing {
  /** The answers that have left us, oldest first, until there is a sign that they arrived. */
  readonly unconfirmed: Delivery[]
  /** The client asks without waiting for answers: what it does says nothing of those. */
  pipelines: boolean
  /** We end the connection behind the newest of them ourselves, as the client wished. */
  last: boolean
  /** In which turn of the event loop the newest of them has left us. */
  leftIn: number
  /** The client took leave before it can have had all of them. */
  early: boolean
}

/** Of more than that the oldest count as lost: that only keeps a client's server time from going on. */
const MAX_UNCONFIRMED = 32

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
    const outgoing: Outgoing = { unconfirmed: [], pipelines: false, last: false, leftIn: -1, early: false }
    connections.set(connection, outgoing)
    connection.once('end', () => {
      if (!confirm(outgoing)) outgoing.early = true
    })
    connection.once('close', (hadError) => ended(outgoing, hadError))
    return outgoing
  }

  /** By what has just been read; false when it says nothing. */
  function confirm({ unconfirmed, pipelines, leftIn }: Outgoing): boolean {
    // Answers leave at the end of a turn: what is read first thing in the next one was there before they left.
    if (pipelines || turn === leftIn) return false
    unconfirmed.length = 0
    return true
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
    if (hadError || early || (!last && !isClosing())) for (const delivery of unconfirmed) delivery.lost()
    unconfirmed.length = 0
  }

  return {
    asked(connection, unanswered) {
      const outgoing = unanswered ? outgoingOn(connection) : connections.get(connection)
      if (!outgoing) return
      if (unanswered) outgoing.pipelines = true
      confirm(outgoing)
    },
    watch(connection, response, delivery) {
      const outgoing = outgoingOn(connection)
      const last = !response.shouldKeepAlive
      const left = () => {
        // Node says so too of what it could not hand over because the connection broke.
        if (connection.destroyed) return
        delivery.sent()
        if (outgoing.unconfirmed.push(delivery) > MAX_UNCONFIRMED) outgoing.unconfirmed.shift()?.lost()
        outgoing.last = last
        outgoing.leftIn = turn
        outgoing.early ||= connection.readableEnded
        countTurn()
      }
      // Mostly the system has taken all of it by now, and a listener for each answer costs more than looking.
      if (response.writableFinished) left()
      else response.once('finish', left)
    },
  }
}
