import type { Clock } from '../../../clock.ts'
import type { Cursors, StationKey } from '../../../messages/store.ts'
import type { Queries } from '../database/connection.ts'
import { newPosition, noteReading, type Position, seenOf, withdraw } from './cursor-position.ts'
import { openCursorWrites } from './cursor-writes.ts'
import type { Reader, Reading } from './reader.ts'

/** Beyond it those that were asked for the longest ago are forgotten, once written. */
const MOST_POSITIONS = 50_000

const UNHEEDED = { sent: () => {}, lost: () => {} }

interface CursorsParts {
  readonly database: Queries
  readonly reader: Reader
  readonly clock: Clock
}

/** The cursors as the rest of the store takes them. */
export interface SharedCursors extends Cursors {
  /** The station's messages were read, and with them where its phone is. */
  note(station: StationKey, reading: Reading): void
  /** Writes down what is not written yet, but for what answers have just brought. */
  seal(): Promise<void>
}

/** Where each station's phone is, by the rules of the store in a file. */
export function openCursors({ database, reader, clock }: CursorsParts): SharedCursors {
  // In the order in which they were last asked for.
  const positions = new Map<StationKey, Position>()
  const writes = openCursorWrites({ database, reader, clock })

  function note(station: StationKey, reading: Reading): Position {
    const known = positions.get(station)
    const position = known?.registeredAt === reading.registeredAt ? known : newPosition(station, reading)
    noteReading(position, reading)
    positions.delete(station)
    positions.set(station, position)
    if (positions.size > MOST_POSITIONS) forgetOldest()
    return position
  }

  function forgetOldest(): void {
    for (const [key, position] of positions) {
      if (positions.size <= MOST_POSITIONS) return
      if (!writes.has(position)) positions.delete(key)
    }
  }

  function setSeen(position: Position, serverTime: number): void {
    // Where there was nothing to be seen, the older one says as much.
    if (position.newest > seenOf(position)) writes.changed(position)
    position.seen = serverTime
  }

  return {
    async current(station) {
      const found = await reader.read(station, Number.POSITIVE_INFINITY)
      if (!found.station) return found.last
      const position = note(station, found.station)
      const seen = seenOf(position)
      if (found.station.newest > seen) return seen
      position.seen = Math.max(position.seen, found.last)
      return found.last
    },

    handOut(station, since, serverTime) {
      const position = positions.get(station)
      // Whoever asks for more than the phone did is not the phone, or one that begins anew and comes back with a cursor.
      if (!position || since < position.asked || since > serverTime) return UNHEEDED
      position.asked = Math.floor(since)
      let before = Math.max(seenOf(position), position.asked)
      if (before > seenOf(position)) setSeen(position, before)
      return {
        sent() {
          before = seenOf(position)
          if (serverTime > before) setSeen(position, serverTime)
        },
        lost() {
          // With a newer cursor it says itself that it has what came with this one.
          if (position.asked >= serverTime || before >= seenOf(position)) return
          if (withdraw(position, before)) writes.takeBack(position)
        },
      }
    },

    note: (station, reading) => void note(station, reading),

    seal: writes.seal,
  }
}
