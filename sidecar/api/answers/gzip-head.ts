import { promisify } from 'node:util'
import { constants, crc32, deflateRaw, deflateRawSync } from 'node:zlib'

/**
 * The compressed beginning of a text. Several answers reuse it, each with an end of its own. Compressing 7 KB takes
 * longer than all other work on an answer.
 */
export interface GzipHead {
  /** Raw DEFLATE blocks. They end at a byte boundary, and none is marked as final (RFC 1951, section 3.2.3). */
  readonly blocks: Buffer
  /** CRC-32 of the plain text. `bytes` is the length of that text. */
  readonly crc: number
  readonly bytes: number
}

const flush = { finishFlush: constants.Z_SYNC_FLUSH }
// By default, zlib allocates 16 KB for each result, even if the result has 2 KB. With 5,000 stations, 12 MB of this
// memory were unused.
const flushSync = { ...flush, chunkSize: 4096 }
const deflateRawInPool = promisify(deflateRaw)

/**
 * Bytes up to which the main thread compresses a text, within 0.3 ms. The thread pool takes longer, and the database
 * needs it.
 */
const MAX_SYNC_BYTES = 32_768

/** Compresses `text`. If the text is long, the thread pool compresses it. */
export function gzipHead(text: Buffer): GzipHead | Promise<GzipHead> {
  const headOf = (blocks: Buffer) => ({ blocks: exactCopy(blocks), crc: crc32(text), bytes: text.length })
  return text.length <= MAX_SYNC_BYTES
    ? headOf(deflateRawSync(text, flushSync))
    : deflateRawInPool(text, flush).then(headOf)
}

/** Copies zlib's result, which is the beginning of a larger allocation, so that the rest can be freed. */
function exactCopy(blocks: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(blocks.length)
  blocks.copy(copy)
  return copy
}

// The gzip header (RFC 1952, section 2.3): method deflate, no name, no time, unknown operating system.
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff])
const STORED_HEADER_BYTES = 5
const TRAILER_BYTES = 8
/** Limit of a stored (uncompressed) block, in bytes. Source: RFC 1951, section 3.2.4. */
const MAX_STORED_BYTES = 0xffff

/** A part of a text: its plain bytes, and its DEFLATE blocks if it was compressed before. */
export interface GzipPart {
  readonly text: Buffer
  readonly blocks?: Buffer
}

/**
 * Joins `parts`, in order, into the compressed beginning of one text. A part without `blocks` becomes a stored block,
 * so it must not exceed 65,535 bytes.
 */
export function joinGzip(parts: readonly GzipPart[]): GzipHead {
  let crc = 0
  let bytes = 0
  const blocks = parts.flatMap(({ text, blocks: compressed }) => {
    crc = crc32(text, crc)
    bytes += text.length
    return compressed ? [compressed] : [storedHeader(text.length, false), text]
  })
  return { blocks: Buffer.concat(blocks), crc, bytes }
}

/** Returns the header of a stored block. Source: RFC 1951, section 3.2.4. */
function storedHeader(length: number, isLast: boolean): Buffer {
  if (length > MAX_STORED_BYTES) throw new RangeError('A stored block is too long.')
  const header = Buffer.alloc(STORED_HEADER_BYTES)
  header[0] = isLast ? 1 : 0
  header.writeUInt16LE(length, 1)
  header.writeUInt16LE(length ^ MAX_STORED_BYTES, 3)
  return header
}

/**
 * Returns the size of head and tail together as one gzip member. `tail` becomes the last block, which is stored, so it
 * must not exceed 65,535 bytes.
 */
export function gzipBytes({ blocks }: GzipHead, tail: Buffer): number {
  return HEADER.length + blocks.length + STORED_HEADER_BYTES + tail.length + TRAILER_BYTES
}

/** Writes head and tail as one gzip member to the beginning of `target`. */
export function copyGzip({ blocks, crc, bytes }: GzipHead, tail: Buffer, target: Buffer): void {
  const tailStart = HEADER.length + blocks.length + STORED_HEADER_BYTES
  target.set(HEADER)
  target.set(blocks, HEADER.length)
  target.set(storedHeader(tail.length, true), tailStart - STORED_HEADER_BYTES)
  target.set(tail, tailStart)
  target.writeUInt32LE(crc32(tail, crc), tailStart + tail.length)
  target.writeUInt32LE((bytes + tail.length) % 2 ** 32, tailStart + tail.length + 4)
}
