import type { StationKey, StoredMessage } from '../../../messages/store.ts'

const HEAD_BYTES = 16

/**
 * Unpacks the messages that the SQL function `read_newer` packs into one value. Each has a stamp of 8 bytes, and the
 * lengths of its source, sequence id and text in 2, 2 and 4 bytes. These three follow. The returned texts are views of
 * `packed`, and keep it in memory.
 */
export function unpackMessages(to: StationKey, packed: Buffer): readonly StoredMessage[] {
  const messages: StoredMessage[] = []
  let head = 0
  while (head < packed.length) {
    const stamp = packed.readUInt32BE(head) * 2 ** 32 + packed.readUInt32BE(head + 4)
    const source = head + HEAD_BYTES
    const seqId = source + packed.readUInt16BE(head + 8)
    const text = seqId + packed.readUInt16BE(head + 10)
    const end = text + packed.readUInt32BE(head + 12)
    messages.push({
      from: packed.toString('utf8', source, seqId),
      to,
      seqId: packed.toString('utf8', seqId, text),
      text: packed.subarray(text, end),
      stamp,
    })
    head = end
  }
  return messages
}
