import type { BodyHead } from '../answers/answer.ts'
import { textOfBytes } from '../answers/json-text.ts'
import type { Slice } from './ready-ring.ts'

const BEFORE_RECORDS = Buffer.from('{"messages":[')
const BEFORE_AVATARS = '],"avatars":'

/** Returns the beginning of an answer: the messages and avatar hashes of `slice`. */
export function sliceHead(slice: Slice, compressed: BodyHead['compressed']): BodyHead {
  return {
    bytes: lengthOf(slice),
    copyTo: (target) => copySlice(slice, target),
    text: () => textOfBytes(bytesOfSlice(slice)),
    compressed,
  }
}

export function bytesOfSlice(slice: Slice): Buffer {
  const bytes = Buffer.allocUnsafe(lengthOf(slice))
  copySlice(slice, bytes)
  return bytes
}

function lengthOf({ records, avatars }: Slice): number {
  return BEFORE_RECORDS.length + records.length + BEFORE_AVATARS.length + avatars.length
}

function copySlice({ records, avatars }: Slice, target: Buffer): void {
  target.set(BEFORE_RECORDS)
  target.set(records, BEFORE_RECORDS.length)
  target.write(BEFORE_AVATARS + avatars, BEFORE_RECORDS.length + records.length, 'latin1')
}
