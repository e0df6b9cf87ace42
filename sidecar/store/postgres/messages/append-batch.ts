import type { AppendOutcome, ReceivedMessage, StationKey } from '../../../messages/store.ts'
import { byteaArray, type SqlValue } from '../database/sql-values.ts'

/** The characters of {@link AppendAnswer.kinds}. A duplicate is 1. */
const NO_STATION = '0'
const STORED = '2'

/** What one caller brings. */
export interface AppendCall {
  readonly messages: readonly ReceivedMessage[]
  /** Of each of them. */
  readonly identities: readonly Buffer[]
  readonly mayAck: boolean
  /** When it came, in elapsed milliseconds. */
  readonly since: number
}

/** What `append` says of a batch. */
export interface AppendAnswer {
  readonly base: number
  readonly kinds: string
  readonly acks: readonly number[]
}

/** Milliseconds for which an equal message is a copy: with a number, and without. */
export interface Horizons {
  readonly numbered: number
  readonly unnumbered: number
}

/** The calls of one statement, as it takes them. */
export interface AppendBatch {
  /** No two are equal. */
  readonly different: readonly Different[]
  /** Of each message of the calls, in order. */
  readonly places: readonly Place[]
  /** What may be acknowledged. */
  readonly acks: readonly { readonly place: Place; readonly message: ReceivedMessage }[]
}

interface Different {
  readonly message: ReceivedMessage
  readonly identity: Buffer
  readonly since: number
}

interface Place {
  /** Of the equal one among the different ones. */
  readonly at: number
  /** Another one stands for it. */
  readonly copy: boolean
}

/** What one message of a batch says, the others that are equal to it say too: so only the first is asked about. */
export function batchOf(calls: readonly AppendCall[], horizons: Horizons): AppendBatch {
  const different: Different[] = []
  const places: Place[] = []
  const acks: { readonly place: Place; readonly message: ReceivedMessage }[] = []
  const latest = new Map<string, number>()
  for (const { messages, identities, mayAck, since } of calls) {
    for (const [index, message] of messages.entries()) {
      const identity = identities[index] as Buffer
      const name = identity.toString('latin1')
      const before = latest.get(name)
      const horizon = message.seqId === '' ? horizons.unnumbered : horizons.numbered
      const copy = before !== undefined && since - (different[before]?.since ?? 0) < horizon
      const place = { at: copy ? before : different.length, copy }
      if (!copy) {
        latest.set(name, place.at)
        different.push({ message, identity, since })
      }
      places.push(place)
      if (mayAck && message.seqId !== '') acks.push({ place, message })
    }
  }
  return { different, places, acks }
}

/** The first values of `append`, at `now` in elapsed milliseconds. */
export function rowsOf({ different, acks }: AppendBatch, now: number): readonly SqlValue[] {
  return [
    different.map(({ message }) => message.to),
    byteaArray(different.map(({ message }) => Buffer.from(message.from))),
    byteaArray(different.map(({ message }) => Buffer.from(message.seqId))),
    byteaArray(different.map(({ message }) => message.text)),
    byteaArray(different.map(({ identity }) => identity)),
    different.map(({ since }) => Math.round(now - since)),
    acks.map(({ place }) => place.at + 1),
    byteaArray(acks.map(({ message }) => Buffer.from(message.sourceAsReceived))),
    byteaArray(acks.map(({ message }) => Buffer.from(message.seqId))),
  ]
}

/** Stations that have something new. */
export function storedFor({ different }: AppendBatch, { kinds }: AppendAnswer): readonly StationKey[] {
  return different.flatMap(({ message }, at) => (kinds[at] === STORED ? message.to : []))
}

/** Of each call those of its messages, in order. */
export function outcomesOf(
  calls: readonly AppendCall[],
  { places, acks }: AppendBatch,
  { base, kinds, acks: granted }: AppendAnswer,
): readonly (readonly AppendOutcome[])[] {
  const acknowledged = new Set<Place>(granted.flatMap((one) => acks[one - 1]?.place ?? []))
  let next = 0
  return calls.map(({ messages }) =>
    messages.map(({ sourceAsReceived: _, ...message }): AppendOutcome => {
      const place = places[next++]
      if (!place) return { kind: 'no_station' }
      const kind = kinds[place.at] ?? NO_STATION
      const ack = acknowledged.has(place)
      if (kind === STORED && !place.copy)
        return { kind: 'stored', message: { ...message, stamp: base + place.at + 1 }, ack }
      return kind === NO_STATION ? { kind: 'no_station' } : { kind: 'duplicate', ack }
    }),
  )
}
