import { destinationOf } from '../../../messages/message.ts'
import type { StationKey, StoredMessage } from '../../../messages/store.ts'

const HEAD_BYTES = 18

/**
 * Unpacks messages from the SQL function `read_newer`. Each begins with its stamp (8 bytes), and the lengths of source,
 * message number, text and addressee (2, 2, 4 and 2 bytes). Then these follow. The texts are views of `packed`, and
 * keep it in memory.
 */
export function unpackMessages(station: StationKey, packed: Buffer): readonly StoredMessage[] {
  const messages: StoredMessage[] = []
  let head = 0
  while (head < packed.length) {
    const stamp = packed.readUInt32BE(head) * 2 ** 32 + packed.readUInt32BE(head + 4)
    const source = head + HEAD_BYTES
    const seqId = source + packed.readUInt16BE(head + 8)
    const text = seqId + packed.readUInt16BE(head + 10)
    const addressee = text + packed.readUInt32BE(head + 12)
    const end = addressee + packed.readUInt16BE(head + 16)
    messages.push({
      from: packed.toString('utf8', source, seqId),
      // The addressee is empty unless it is another SSID of the station.
      ...destinationOf(station, packed.toString('utf8', addressee, end)),
      seqId: packed.toString('utf8', seqId, text),
      text: packed.subarray(text, addressee),
      stamp,
    })
    head = end
  }
  return messages
}
