import type { StationKey, StoredMessage } from '../../../messages/store.ts'

const HEAD_BYTES = 16

/**
 * Messages out of one value, as `read_since` packs them: of each the time in 8 bytes, the lengths of source, number and text in 2,
 * 2 and 4, and then those. Texts are parts of `packed`, which stays in memory with them.
 */
export function unpackMessages(to: StationKey, packed: Buffer): readonly StoredMessage[] {
  const messages: StoredMessage[] = []
  let at = 0
  while (at < packed.length) {
    const time = packed.readUInt32BE(at) * 2 ** 32 + packed.readUInt32BE(at + 4)
    const source = at + HEAD_BYTES
    const seqId = source + packed.readUInt16BE(at + 8)
    const text = seqId + packed.readUInt16BE(at + 10)
    const end = text + packed.readUInt32BE(at + 12)
    messages.push({
      from: packed.toString('utf8', source, seqId),
      to,
      seqId: packed.toString('utf8', seqId, text),
      text: packed.subarray(text, end),
      time,
    })
    at = end
  }
  return messages
}
