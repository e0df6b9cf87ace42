import { addresseeOf, parseMessage } from '../aprs/message.ts'
import { parsePacket } from '../aprs/packet.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import type { AckSender } from './ack-sender.ts'
import { wantsAcks } from './station.ts'
import type { AppendOutcome, History, ReceivedMessage, Stations } from './store.ts'

/**
 * Processes the packet lines that one read from a connection returned, as Latin-1 without line breaks. Resolves once
 * their messages are stored or lost; never rejects. The caller must limit the calls in progress, because nothing else
 * limits how many messages wait to be stored.
 */
export type Receiver = (lines: readonly string[]) => Promise<void>

interface ReceiverParts {
  readonly stations: Pick<Stations, 'get'>
  readonly history: Pick<History, 'append'>
  readonly isBlocked: (sender: string) => boolean
  readonly acks: AckSender
  readonly metrics: Metrics
  readonly log: Log
}

const OUTCOME_COUNTERS = {
  stored: 'messages_stored',
  duplicate: 'messages_duplicate',
  // The station was unregistered while its message waited to be stored.
  no_station: 'messages_not_addressed',
} as const

type DropCounter = 'packets_unparsable' | 'messages_not_addressed' | 'messages_not_for_operator' | 'messages_blocked'

/**
 * Creates the pipeline of received lines: parse, store once, acknowledge. Storing a message also makes its notification
 * due. No ack or notification is sent before the message is durable. A message from a station to itself is handled like
 * any other, because users test their setup that way.
 */
export function createReceiver({ stations, history, isBlocked, acks, metrics, log }: ReceiverParts): Receiver {
  const losses = new Losses(metrics, log)

  function settle(message: ReceivedMessage, outcome: AppendOutcome, mayAck: boolean): void {
    metrics.count(OUTCOME_COUNTERS[outcome.kind])
    if (outcome.kind === 'no_station') return
    const { sourceAsReceived: from, to, seqId } = message
    if (outcome.ack) acks.acknowledge({ from, to, seqId })
    else if (seqId !== '' && wantsAcks(stations.get(to), message)) acks.withhold(mayAck)
  }

  return async (lines) => {
    const received: ReceivedMessage[] = []
    for (const line of lines) {
      const message = readMessage(line, stations, isBlocked)
      if (typeof message === 'string') metrics.count(message)
      else received.push(message)
    }
    if (received.length === 0) return
    const mayAck = acks.ready()
    let outcomes: readonly AppendOutcome[]
    try {
      outcomes = await history.append(received, mayAck)
    } catch (error) {
      return losses.lost(received.length, error)
    }
    losses.stored()
    for (const [i, outcome] of outcomes.entries()) settle(received[i] as ReceivedMessage, outcome, mayAck)
  }
}

/** Reads a message to a registered station from a line. For any other line, returns the counter of the reason. */
function readMessage(
  line: string,
  stations: Pick<Stations, 'get'>,
  isBlocked: (sender: string) => boolean,
): ReceivedMessage | DropCounter {
  const packet = parsePacket(line)
  const addressee = packet && addresseeOf(packet)
  if (!addressee) return 'packets_unparsable'
  if (!stations.get(addressee.to)) return 'messages_not_addressed'
  const message = parseMessage(line, addressee)
  if (message.kind !== 'message') return 'messages_not_for_operator'
  if (isBlocked(packet.source)) return 'messages_blocked'
  const { to, seqId, text } = message
  // The text is copied, because a view would keep the whole chunk in memory while the message waits.
  const bytes = Buffer.from(text, 'latin1')
  return { from: packet.source, sourceAsReceived: packet.sourceAsReceived, to, seqId, text: bytes }
}

/** Logs one line when storing begins to fail and one when it works again, however long the outage lasts. */
class Losses {
  readonly #metrics: Metrics
  readonly #log: Log
  #lostInARow = 0

  constructor(metrics: Metrics, log: Log) {
    this.#metrics = metrics
    this.#log = log
  }

  lost(count: number, error: unknown): void {
    const reason = reasonOf(error)
    this.#metrics.countCase('messages_lost', { reason }, count)
    if (this.#lostInARow === 0) this.#report(reason, error)
    this.#lostInARow += count
  }

  stored(): void {
    if (this.#lostInARow === 0) return
    this.#log.info('messages-stored-again', 'Messages are stored again.', { lost: this.#lostInARow })
    this.#lostInARow = 0
  }

  #report(reason: string, error: unknown): void {
    if (reason === 'store_closed')
      this.#log.warn(
        'messages-not-stored',
        'The sidecar stopped before it stored all messages. They are not acknowledged, so their senders retransmit them.',
      )
    else
      this.#log.error(
        'messages-not-stored',
        'Could not store messages; error says why. They are not acknowledged, so their senders retransmit them.',
        { error },
      )
  }
}

/** Returns the code of a store error, or `other`. */
function reasonOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'other'
}
