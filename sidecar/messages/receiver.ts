import { addresseeOf, parseMessage } from '../aprs/message.ts'
import { parsePacket } from '../aprs/packet.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import type { AckSender } from './ack-sender.ts'
import { wantsAcks } from './station.ts'
import type { AppendOutcome, History, ReceivedMessage, Stations } from './store.ts'

/**
 * Takes what arrived in one read from a connection, as lines in Latin-1 without line breaks. Resolves when its messages
 * are stored, or given up; never rejects. The caller should hold the next read back while too many calls are open, for
 * that is all that bounds what waits to be stored.
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
  // It was unregistered while its message waited.
  no_station: 'messages_not_addressed',
} as const

type DropCounter = 'packets_unparsable' | 'messages_not_addressed' | 'messages_not_for_operator' | 'messages_blocked'

/**
 * The pipeline of what arrives: parse, store once, acknowledge. What is stored is due to be pushed by that. Nobody
 * hears of a message before it is durable. A message that a station sends to itself is a message like any other: that
 * is how people try their set-up.
 */
export function createReceiver(parts: ReceiverParts): Receiver {
  const { stations, history, isBlocked, acks, metrics, log } = parts
  let lostInARow = 0

  /** The message for a registered station's operator in a line; everything else is counted. */
  function read(line: string): ReceivedMessage | undefined {
    const packet = parsePacket(line)
    const addressee = packet && addresseeOf(packet)
    if (!addressee) return dropped('packets_unparsable')
    if (!stations.get(addressee.to)) return dropped('messages_not_addressed')
    const message = parseMessage(line, addressee)
    if (message.kind !== 'message') return dropped('messages_not_for_operator')
    if (isBlocked(packet.source)) return dropped('messages_blocked')
    const { to, seqId, text } = message
    // Bytes of its own: a view would keep the whole chunk in memory while the message waits.
    const bytes = Buffer.from(text, 'latin1')
    return { from: packet.source, sourceAsReceived: packet.sourceAsReceived, to, seqId, text: bytes }
  }

  function dropped(reason: DropCounter): undefined {
    metrics.count(reason)
  }

  function settle(message: ReceivedMessage, outcome: AppendOutcome, mayAck: boolean): void {
    metrics.count(OUTCOME_COUNTERS[outcome.kind])
    if (outcome.kind === 'no_station') return
    const { sourceAsReceived: from, to, seqId } = message
    if (outcome.ack) acks.acknowledge({ from, to, seqId })
    else if (seqId !== '' && wantsAcks(stations.get(to))) acks.withhold(mayAck)
  }

  /** One line when storing begins to fail and one when it works again, however long and busy the time between. */
  function lost(count: number, error: unknown): void {
    const reason = reasonOf(error)
    metrics.countCase('messages_lost', { reason }, count)
    if (lostInARow === 0)
      if (reason === 'store_closed')
        log.warn(
          'messages-not-stored',
          'The sidecar stopped before it stored all messages; it did not acknowledge them, so their senders try again.',
        )
      else
        log.error(
          'messages-not-stored',
          'Messages cannot be stored; they are not acknowledged, so senders try again.',
          { error },
        )
    lostInARow += count
  }

  function storingWorks(): void {
    if (lostInARow === 0) return
    log.info('messages-stored-again', 'Messages can be stored again.', { lost: lostInARow })
    lostInARow = 0
  }

  return async (lines) => {
    const received: ReceivedMessage[] = []
    for (const line of lines) {
      const one = read(line)
      if (one) received.push(one)
    }
    if (received.length === 0) return
    const mayAck = acks.ready()
    let outcomes: readonly AppendOutcome[]
    try {
      outcomes = await history.append(received, mayAck)
    } catch (error) {
      return lost(received.length, error)
    }
    storingWorks()
    for (const [i, outcome] of outcomes.entries()) settle(received[i] as ReceivedMessage, outcome, mayAck)
  }
}

/** The store's code, where it is the store that failed. */
function reasonOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'other'
}
