import { ringOf } from '../../../messages/message.ts'
import type { AppendOutcome, ReceivedMessage, StationKey } from '../../../messages/store.ts'
import { byteaArray, type SqlValue } from '../database/sql-values.ts'

/**
 * Characters of {@link AppendAnswer.kinds}, one for each message. The third possible character, `1`, stands for a
 * duplicate.
 */
const NO_STATION = '0'
const STORED = '2'

const NO_BYTES = Buffer.alloc(0)

/** The messages that one call stores. */
export interface AppendRequest {
  readonly messages: readonly ReceivedMessage[]
  /** The identity of each message; see {@link messageIdentity}. */
  readonly identities: readonly Buffer[]
  readonly mayAck: boolean
  /** Time at which the request arrived, in elapsed milliseconds. */
  readonly since: number
}

/** The answer of the SQL function `append` to a batch. The function's file describes its members. */
export interface AppendAnswer {
  readonly base: number
  readonly kinds: string
  readonly acks: readonly number[]
  /**
   * One stamp for each of `acks`: if the message is a copy, the stamp of its original in the ring; otherwise 0. Empty
   * if the batch has no copies.
   */
  readonly originals: readonly number[]
}

/** Time in milliseconds for which an equal message is a duplicate: with a message number (`numbered`), and without. */
export interface Horizons {
  readonly numbered: number
  readonly unnumbered: number
}

/** The messages of several requests, prepared for one statement. */
export interface AppendBatch {
  /** The messages of all requests, without repetitions. */
  readonly distinct: readonly Distinct[]
  /** For each message of the requests, in order: the element of `distinct` that represents this message. */
  readonly places: readonly Place[]
  /** The messages that the database may decide to acknowledge. */
  readonly acks: readonly { readonly place: Place; readonly message: ReceivedMessage }[]
}

interface Distinct {
  readonly message: ReceivedMessage
  readonly identity: Buffer
  readonly since: number
}

interface Place {
  /** The index of the element of `distinct` that equals this message. */
  readonly index: number
  /** Whether this message is a duplicate of an earlier message in the batch. */
  readonly isCopy: boolean
}

/**
 * Builds a batch. If messages of a batch are equal, only the first is sent to the database; the others are duplicates.
 */
export function batchOf(requests: readonly AppendRequest[], horizons: Horizons): AppendBatch {
  const distinct: Distinct[] = []
  const places: Place[] = []
  const acks: { readonly place: Place; readonly message: ReceivedMessage }[] = []
  const latest = new Map<string, number>()
  for (const { messages, identities, mayAck, since } of requests) {
    for (const [number, message] of messages.entries()) {
      const identity = identities[number] as Buffer
      const name = `${ringOf(message)} ${identity.toString('latin1')}`
      const former = latest.get(name)
      const horizon = message.seqId === '' ? horizons.unnumbered : horizons.numbered
      const isCopy = former !== undefined && since - (distinct[former]?.since ?? 0) < horizon
      const place = { index: isCopy ? former : distinct.length, isCopy }
      if (!isCopy) {
        latest.set(name, place.index)
        distinct.push({ message, identity, since })
      }
      places.push(place)
      if (mayAck && message.seqId !== '' && message.ring === undefined) acks.push({ place, message })
    }
  }
  return { distinct, places, acks }
}

/** Returns the parameters of the SQL function `append` that contain the batch. `now`: elapsed milliseconds. */
export function rowsOf({ distinct, acks }: AppendBatch, now: number): readonly SqlValue[] {
  return [
    distinct.map(({ message }) => ringOf(message)),
    byteaArray(distinct.map(({ message }) => Buffer.from(message.from))),
    byteaArray(distinct.map(({ message }) => Buffer.from(message.seqId))),
    byteaArray(distinct.map(({ message }) => message.text)),
    byteaArray(distinct.map(({ identity }) => identity)),
    distinct.map(({ since }) => Math.round(now - since)),
    acks.map(({ place }) => place.index + 1),
    byteaArray(acks.map(({ message }) => Buffer.from(message.sourceAsReceived))),
    byteaArray(acks.map(({ message }) => Buffer.from(message.seqId))),
  ]
}

/**
 * Returns one value for each message: its addressee if the message is for the ring of another station, otherwise an
 * empty value.
 */
export function addresseesOf({ distinct }: AppendBatch): SqlValue {
  return byteaArray(distinct.map(({ message: { to, ring } }) => (ring === undefined ? NO_BYTES : Buffer.from(to))))
}

/** Returns the stations for which the batch stored a message. */
export function storedFor({ distinct }: AppendBatch, { kinds }: AppendAnswer): readonly StationKey[] {
  return distinct.flatMap(({ message }, index) => (kinds[index] === STORED ? ringOf(message) : []))
}

/** Returns the outcomes for the messages of each request, in order. */
export function outcomesOf(
  requests: readonly AppendRequest[],
  { places, acks }: AppendBatch,
  { base, kinds, acks: granted, originals }: AppendAnswer,
): readonly (readonly AppendOutcome[])[] {
  /** The messages to acknowledge. The value for a duplicate is the stamp of its original in the ring. */
  const acknowledged = new Map<Place, number | undefined>(
    granted.flatMap((number, index) => {
      const place = acks[number - 1]?.place
      return place ? [[place, originals[index] || undefined]] : []
    }),
  )
  let next = 0
  return requests.map(({ messages }) =>
    messages.map(({ sourceAsReceived: _, ...message }): AppendOutcome => {
      const place = places[next++]
      if (!place) return { kind: 'no_station' }
      const kind = kinds[place.index] ?? NO_STATION
      const ack = acknowledged.has(place)
      if (kind === STORED && !place.isCopy)
        return { kind: 'stored', message: { ...message, stamp: base + place.index + 1 }, ack }
      if (kind === NO_STATION) return { kind: 'no_station' }
      const original = kind === STORED ? base + place.index + 1 : acknowledged.get(place)
      return ack && original !== undefined ? { kind: 'duplicate', ack, stamp: original } : { kind: 'duplicate', ack }
    }),
  )
}
