import { crc32 } from 'node:zlib'

/** Width and height of an avatar in pixels. */
const SIDE = 64

/**
 * What is wrong with an avatar's bytes, as a sentence; undefined when they are a whole PNG of 64x64 pixels. What the pixels are, the
 * phones that show it find out. Source: PNG specification (ISO/IEC 15948).
 */
export function pngFault(bytes: Buffer): string | undefined {
  if (!bytes.subarray(0, SIGNATURE.length).equals(SIGNATURE)) return 'It is not a PNG.'
  const chunks = readChunks(bytes.subarray(SIGNATURE.length))
  if (typeof chunks === 'string') return chunks
  const [header] = chunks
  if (header?.type !== 'IHDR' || header.data.length !== 13) return 'The PNG does not begin with its header.'
  if (header.data.readUInt32BE(0) !== SIDE || header.data.readUInt32BE(4) !== SIDE)
    return 'The PNG is not 64x64 pixels.'
  const types = chunks.map(({ type }) => type)
  if (types.indexOf('IEND') !== types.length - 1) return 'The PNG does not end where it should.'
  return types.includes('IDAT') ? undefined : 'The PNG has no image data.'
}

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

interface Chunk {
  readonly type: string
  readonly data: Buffer
}

/** Length, type and checksum around the data of each chunk. */
const CHUNK_OVERHEAD = 12

function readChunks(bytes: Buffer): readonly Chunk[] | string {
  const chunks: Chunk[] = []
  for (let at = 0; at < bytes.length; ) {
    if (bytes.length - at < CHUNK_OVERHEAD) return 'The PNG ends in the middle of a chunk.'
    const end = at + CHUNK_OVERHEAD + bytes.readUInt32BE(at)
    if (end > bytes.length) return 'The PNG ends in the middle of a chunk.'
    if (crc32(bytes.subarray(at + 4, end - 4)) !== bytes.readUInt32BE(end - 4))
      return 'The PNG has a chunk whose checksum is wrong.'
    chunks.push({ type: bytes.toString('latin1', at + 4, at + 8), data: bytes.subarray(at + 8, end - 4) })
    at = end
  }
  return chunks
}
