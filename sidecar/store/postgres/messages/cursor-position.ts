import type { StationKey } from '../../../messages/store.ts'
import type { Reading } from './reader.ts'

/** A time at which nothing was written. */
const NEVER = -1

/**
 * Where one station's phone is. What is written may be older than what is so, never newer than what some instance knows: so each may
 * take the newer of what it knows itself and what is written. Changed by the functions here alone, and nothing of it waits.
 */
export interface Position {
  readonly key: StationKey
  /** Of which registration of the station it is. */
  readonly registeredAt: number
  /** The newest cursor that a request brought, here or, by what was read last, at another instance. */
  asked: number
  /** What is known here alone: the phone has seen every message up to it, or is about to. */
  seen: number
  /** As the database has it, by what was read or written last. */
  written: number
  /** The newest that the database may have from here: of a write that failed nobody knows whether it was carried out. */
  mayBeWritten: number
  /** Of what is written up to it some was lost: none of that counts until it is taken back. */
  withdrawn: number
  /** The same, of the write that is under way to take it back. */
  takingBack: number
  /** The newest message's time when that was read last. */
  newest: number
  /** Readings up to this number may be older than what is known of the database; while a write is under way, all of them. */
  asOf: number
}

/** What a write says of a position, as that was when it began. */
export interface WriteRow extends Pick<Position, 'asked' | 'seen' | 'withdrawn'> {
  readonly position: Position
}

export function newPosition(key: StationKey, { registeredAt, asked, seen, newest, number }: Reading): Position {
  const unknown = { mayBeWritten: NEVER, withdrawn: NEVER, takingBack: NEVER }
  return { key, registeredAt, asked, seen: registeredAt, written: seen, ...unknown, newest, asOf: number }
}

export function noteReading(position: Position, { asked, seen, newest, number }: Reading): void {
  position.asked = Math.max(position.asked, asked)
  position.newest = Math.max(position.newest, newest)
  // Else it may show what has been taken back since, or not show what was written.
  if (number <= position.asOf) return
  position.asOf = number
  // Taken back by another instance: what followed from it here goes too.
  if (seen < position.written) position.seen = position.registeredAt
  position.written = seen
}

/** The phone has seen every message up to it. */
export function seenOf({ written, seen, withdrawn, takingBack }: Position): number {
  return written <= Math.max(withdrawn, takingBack) ? seen : Math.max(written, seen)
}

/** The phone has not got what came after `before`. Says whether the database may have to be told. */
export function withdraw(position: Position, before: number): boolean {
  position.seen = Math.min(position.seen, before)
  if (position.mayBeWritten <= before) return false
  // What another instance wrote in between goes too: an older stamp is as safe.
  position.withdrawn = position.mayBeWritten
  return true
}

export function mustBeTakenBack({ withdrawn }: Position): boolean {
  return withdrawn !== NEVER
}

/** One write of a position is under way at a time. */
export function beginWrite(position: Position): WriteRow {
  const { asked, seen, withdrawn } = position
  position.mayBeWritten = Math.max(position.mayBeWritten, seen)
  position.takingBack = withdrawn
  // What is lost from now on is to be taken back by the next one.
  position.withdrawn = NEVER
  position.asOf = Number.POSITIVE_INFINITY
  return { position, asked, seen, withdrawn }
}

/** `written`: what the database has now, undefined where it has no such registration. `begun`: the reading that was begun last. */
export function endWrite({ position, seen }: WriteRow, written: number | undefined, begun: number): void {
  position.takingBack = NEVER
  position.asOf = begun
  position.mayBeWritten = seen
  if (written !== undefined) position.written = written
}

/** It may have been carried out all the same. */
export function failWrite({ position }: WriteRow, begun: number): void {
  position.withdrawn = Math.max(position.withdrawn, position.takingBack)
  position.takingBack = NEVER
  position.asOf = begun
}
