import { promisify } from 'node:util'
import { constants, crc32, deflateRaw, deflateRawSync } from 'node:zlib'

/**
 * The beginning of a text, compressed once, to be completed as often as one likes by different ends: compressing 7 KB
 * takes longer than everything else about an answer together.
 */
export interface GzipHead {
  /** Raw DEFLATE blocks that end on a byte's edge and are not the last ones (RFC 1951, section 3.2.3). */
  readonly blocks: Buffer
  /** Of what they stand for. */
  readonly crc: number
  readonly bytes: number
}

const flush = { finishFlush: constants.Z_SYNC_FLUSH }
// By default zlib reserves 16 KB for a result of 2 KB: with 5,000 stations what that left between the results came to
// 12 MB.
const flushAtOnce = { ...flush, chunkSize: 4096 }
const deflateRawElsewhere = promisify(deflateRaw)

/**
 * Up to this size compressing takes about 0.3 ms, and a trip to the thread pool, where the database works too, costs
 * more.
 */
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
const MAX_STORED_BYTES = 0xffff

/** A part of a text: its bytes, and where it was compressed before, its blocks. */
export interface GzipPart {
  readonly text: Buffer
  readonly blocks?: Buffer
}

/**
 * The beginning that `parts` make in a row; those that were not compressed become stored blocks, of at most 65,535
 * bytes each.
 */
export function joinGzip(parts: readonly GzipPart[]): GzipHead {
  let crc = 0
  let bytes = 0
  const blocks = parts.flatMap(({ text, blocks: made }) => {
    crc = crc32(text, crc)
    bytes += text.length
    return made ? [made] : [storedHeader(text.length, false), text]
  })
  return { blocks: Buffer.concat(blocks), crc, bytes }
}

/** Source: RFC 1951, section 3.2.4. */
function storedHeader(length: number, isLast: boolean): Buffer {
  if (length > MAX_STORED_BYTES) throw new RangeError('A stored block is too long.')
  const header = Buffer.alloc(STORED_HEADER_BYTES)
  header[0] = isLast ? 1 : 0
  header.writeUInt16LE(length, 1)
  header.writeUInt16LE(length ^ MAX_STORED_BYTES, 3)
  return header
}

/**
 * How many bytes the whole text has as one gzip member, `tail` in a last block that is not compressed; it has at most
 * 65,535.
 */
export function gzipBytes({ blocks }: GzipHead, tail: Buffer): number {
  return HEADER.length + blocks.length + STORED_HEADER_BYTES + tail.length + TRAILER_BYTES
}

/** Puts it at the beginning of `target`. */
export function copyGzip({ blocks, crc, bytes }: GzipHead, tail: Buffer, target: Buffer): void {
  const tailAt = HEADER.length + blocks.length + STORED_HEADER_BYTES
  target.set(HEADER)
  target.set(blocks, HEADER.length)
  target.set(storedHeader(tail.length, true), tailAt - STORED_HEADER_BYTES)
  target.set(tail, tailAt)
  target.writeUInt32LE(crc32(tail, crc), tailAt + tail.length)
  target.writeUInt32LE((bytes + tail.length) % 2 ** 32, tailAt + tail.length + 4)
}
