import { addresseeOf, parseMessage } from '../aprs/message.ts'
import { parsePacket } from '../aprs/packet.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import type { AckSender } from './acks/ack-sender.ts'
import type { ReceivedAck, ReceivedAcks } from './acks/received-acks.ts'
import { wantsAcks, wantsReceivedAcks } from './station.ts'
import type { AppendOutcome, History, ReceivedMessage, Stations } from './store.ts'

/**
 * Processes packet lines in Latin-1 without line breaks. Resolves once their messages are stored or lost; never
 * rejects. The caller must limit its calls.
 */
export type Receiver = (lines: readonly string[]) => Promise<void>

interface ReceiverParts {
  readonly stations: Pick<Stations, 'get' | 'besides'>
  readonly history: Pick<History, 'append'>
  readonly receivedAcks: ReceivedAcks
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
 * Creates the pipeline for received lines. It stores each message once, so that its notification is due, and then
 * acknowledges it. A station's messages to itself count too, because users test their setup with them.
 */
export function createReceiver(parts: ReceiverParts): Receiver {
  const { stations, history, receivedAcks, isBlocked, acks, metrics, log } = parts
  const losses = new Losses(metrics, log)

  function settle(message: ReceivedMessage, outcome: AppendOutcome, mayAck: boolean): void {
    metrics.count(OUTCOME_COUNTERS[outcome.kind])
    if (outcome.kind === 'no_station') return
    const { sourceAsReceived: from, to, seqId } = message
    const stamp = outcome.kind === 'stored' ? outcome.message.stamp : outcome.stamp
    if (outcome.kind === 'stored' && log.isDebug)
      log.debug('message-stored', 'A message was stored.', { station: to, stamp, from, seqId })
    if (outcome.ack) {
      const isSent = acks.acknowledge({ from, to, seqId })
      if (isSent && log.isDebug)
        log.debug('message-acknowledged', 'A message was acknowledged to its sender.', {
          station: to,
          stamp,
          from,
          seqId,
        })
    } else if (seqId !== '' && wantsAcks(stations.get(to), message)) acks.withhold(mayAck)
  }

  async function storeAcks(received: readonly ReceivedAck[]): Promise<void> {
    try {
      metrics.count('acks_received', await receivedAcks.append(received))
    } catch {
      // The loss of acks is not logged. While the store fails, messages are lost too, and that is logged.
      metrics.count('acks_lost', received.length)
    }
  }

  async function storeMessages(received: readonly ReceivedMessage[]): Promise<void> {
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

  return async (lines) => {
    const messages: ReceivedMessage[] = []
    const answers: ReceivedAck[] = []
    for (const line of lines) {
      const received = readLine(line, stations, isBlocked)
      if (typeof received === 'string') metrics.count(received)
      else if ('kind' in received) answers.push(received)
      else if ('to' in received) messages.push(received)
      else messages.push(...received)
    }
    const storing = messages.length > 0 ? storeMessages(messages) : undefined
    if (answers.length > 0) await storeAcks(answers)
    await storing
  }
}

/**
 * Parses a line into its message (one per ring), an ack that a device wants, or the counter of the reason to drop it.
 */
function readLine(
  line: string,
  stations: Pick<Stations, 'get' | 'besides'>,
  isBlocked: (sender: string) => boolean,
): ReceivedMessage | readonly ReceivedMessage[] | ReceivedAck | DropCounter {
  const packet = parsePacket(line)
  const addressee = packet && addresseeOf(packet)
  if (!addressee) return 'packets_unparsable'
  const station = stations.get(addressee.to)
  const otherRings = stations.besides(addressee.to)
  if (!station && otherRings.length === 0) return 'messages_not_addressed'
  const message = parseMessage(line, addressee)
  const isAnswer = message.kind === 'ack' || message.kind === 'rejection'
  if (message.kind === 'not_for_operator' || (isAnswer && !wantsReceivedAcks(station)))
    return 'messages_not_for_operator'
  if (isBlocked(packet.source)) return 'messages_blocked'
  if (isAnswer) {
    const kind = message.kind === 'ack' ? 'ack' : 'rej'
    return { from: packet.source, to: message.to, seqId: message.seqId, kind }
  }
  const { to, seqId, text } = message
  // The text is copied, because otherwise it would keep the whole chunk of the socket in memory until it is stored.
  const bytes = Buffer.from(text, 'latin1')
  const received = { from: packet.source, sourceAsReceived: packet.sourceAsReceived, to, seqId, text: bytes }
  if (otherRings.length === 0) return received
  const copies = otherRings.map((ring) => ({ ...received, ring }))
  return station ? [received, ...copies] : copies
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
    this.#log.info('messages-stored-again', 'The sidecar can store messages again.', { lost: this.#lostInARow })
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
