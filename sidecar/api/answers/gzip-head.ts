import { promisify } from 'node:util'
import { constants, crc32, deflateRaw, deflateRawSync } from 'node:zlib'

/**
 * The beginning of a text, compressed once, to be completed as often as one likes by different ends: compressing 7 KB takes
 * longer than everything else about an answer together.
 */
export interface GzipHead {
  /** Raw DEFLATE blocks that end on a byte's edge and are not the last ones (RFC 1951, section 3.2.3). */
  readonly blocks: Buffer
  /** Of what they stand for. */
  readonly crc: number
  readonly bytes: number
}

const flush = { finishFlush: constants.Z_SYNC_FLUSH }
// By default zlib reserves 16 KB for a result of 2 KB: with 5,000 stations what that left between the results came to 12 MB.
const flushAtOnce = { ...flush, chunkSize: 4096 }
const deflateRawElsewhere = promisify(deflateRaw)

/** Up to this size compressing takes about 0.3 ms, and a trip to the thread pool, where the database works too, costs more. */
const MAX_AT_ONCE_BYTES = 32_768

/** Compresses `text`, on another thread when it is long. */
export function gzipHead(text: Buffer): GzipHead | Promise<GzipHead> {
  const of = (blocks: Buffer) => ({ blocks: ofItsOwn(blocks), crc: crc32(text), bytes: text.length })
  return text.length <= MAX_AT_ONCE_BYTES
    ? of(deflateRawSync(text, flushAtOnce))
    : deflateRawElsewhere(text, flush).then((blocks) => of(blocks))
}

/** A copy that keeps nothing else in memory: zlib hands out the beginning of what it had reserved. */
function ofItsOwn(blocks: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(blocks.length)
  blocks.copy(own)
  return own
}

// RFC 1952, section 2.3: deflate, no name, no time, any system.
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff])
const STORED_HEADER_BYTES = 5
const TRAILER_BYTES = 8
/** What a stored block holds. */
const MAX_TAIL_BYTES = 0xffff

/** How many bytes the whole text has as one gzip member, `tail` in a last block that is not compressed; it has at most 65,535. */
export function gzipBytes({ blocks }: GzipHead, tail: Buffer): number {
  return HEADER.length + blocks.length + STORED_HEADER_BYTES + tail.length + TRAILER_BYTES
}

/** Puts it at the beginning of `target`. */
export function copyGzip({ blocks, crc, bytes }: GzipHead, tail: Buffer, target: Buffer): void {
  if (tail.length > MAX_TAIL_BYTES) throw new RangeError('The end of a compressed text is too long.')
  const tailAt = HEADER.length + blocks.length + STORED_HEADER_BYTES
  target.set(HEADER)
  target.set(blocks, HEADER.length)
  target[tailAt - 5] = 1
  target.writeUInt16LE(tail.length, tailAt - 4)
  target.writeUInt16LE(tail.length ^ 0xffff, tailAt - 2)
  target.set(tail, tailAt)
  target.writeUInt32LE(crc32(tail, crc), tailAt + tail.length)
  target.writeUInt32LE((bytes + tail.length) % 2 ** 32, tailAt + tail.length + 4)
}
