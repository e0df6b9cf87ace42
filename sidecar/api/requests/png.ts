import { crc32 } from 'node:zlib'
import { type ImageHeader, imageDataFault, inflatesWithin, readHeader } from './png-image-data.ts'

/** Required width and height of an avatar, in pixels. */
const SIDE = 64

/** Limit of a decompressed colour profile, in bytes. Common profiles have a few KB. */
const MAX_PROFILE_BYTES = 65_536

/**
 * Returns the fault of an avatar's image as a sentence; undefined for a complete PNG of 64x64 pixels. Decodes all that
 * a phone would, because every receiver gets the avatar.
 *
 * @see PNG specification (ISO/IEC 15948)
 */
export function pngFault(bytes: Buffer): string | undefined {
  if (!bytes.subarray(0, SIGNATURE.length).equals(SIGNATURE)) return 'It is not a PNG.'
  const chunks = readChunks(bytes.subarray(SIGNATURE.length))
  if (typeof chunks === 'string') return chunks
  const header = readHeader(chunks[0]?.type === 'IHDR' ? chunks[0].data : undefined)
  if (typeof header === 'string') return header
  if (header.width !== SIDE || header.height !== SIDE) return 'The PNG is not 64x64 pixels.'
  return (
    orderFault(chunks.map(({ type }) => type)) ??
    paletteFault(chunks, header) ??
    extraFault(chunks) ??
    imageDataFault(header, Buffer.concat(ofType(chunks, 'IDAT')))
  )
}

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

interface Chunk {
  readonly type: string
  readonly data: Buffer
}

/** Bytes of a chunk other than its data: length, type and checksum. */
const CHUNK_OVERHEAD = 12

function readChunks(bytes: Buffer): readonly Chunk[] | string {
  const chunks: Chunk[] = []
  for (let start = 0; start < bytes.length; ) {
    if (bytes.length - start < CHUNK_OVERHEAD) return 'The PNG ends in the middle of a chunk.'
    const end = start + CHUNK_OVERHEAD + bytes.readUInt32BE(start)
    if (end > bytes.length) return 'The PNG ends in the middle of a chunk.'
    if (crc32(bytes.subarray(start + 4, end - 4)) !== bytes.readUInt32BE(end - 4))
      return 'The PNG has a chunk whose checksum is wrong.'
    chunks.push({ type: bytes.toString('latin1', start + 4, start + 8), data: bytes.subarray(start + 8, end - 4) })
    start = end
  }
  return chunks
}

function ofType(chunks: readonly Chunk[], type: string): readonly Buffer[] {
  return chunks.filter((chunk) => chunk.type === type).map(({ data }) => data)
}

function orderFault(types: readonly string[]): string | undefined {
  if (types.indexOf('IEND') !== types.length - 1) return 'The PNG does not end with IEND.'
  // A chunk is critical if its type begins with a capital letter. A decoder that does not know a critical chunk must
  // refuse the image.
  const unknown = types.find((type) => /^[A-Z]/.test(type) && !CRITICAL.has(type))
  if (unknown !== undefined || types.lastIndexOf('IHDR') > 0) return 'The PNG has a chunk that decoders refuse.'
  const first = types.indexOf('IDAT')
  if (first < 0) return 'The PNG has no image data.'
  const last = types.lastIndexOf('IDAT')
  return types.slice(first, last).every((type) => type === 'IDAT') ? undefined : 'The PNG has image data in two places.'
}

const CRITICAL: ReadonlySet<string> = new Set(['IHDR', 'PLTE', 'IDAT', 'IEND'])

const PALETTE_ENTRY_BYTES = 3

function paletteFault(chunks: readonly Chunk[], { colour, bitDepth }: ImageHeader): string | undefined {
  const palettes = ofType(chunks, 'PLTE')
  const [palette] = palettes
  if (!palette) return colour === 'palette' ? 'The PNG has no palette.' : undefined
  const types = chunks.map(({ type }) => type)
  const entries = palette.length / PALETTE_ENTRY_BYTES
  const maxEntries = colour === 'palette' ? 2 ** bitDepth : 256
  const fits = Number.isInteger(entries) && entries >= 1 && entries <= maxEntries
  const isPlaced = palettes.length === 1 && types.indexOf('PLTE') < types.indexOf('IDAT') && !colour.startsWith('grey')
  return fits && isPlaced ? undefined : 'The PNG has a palette that decoders refuse.'
}

function extraFault(chunks: readonly Chunk[]): string | undefined {
  for (const { type, data } of chunks) {
    if (ANIMATION.has(type)) return 'The PNG is animated.'
    if (type === 'zTXt' || (type === 'iTXt' && data[data.indexOf(0) + 1] !== 0)) return 'The PNG has compressed text.'
    // The chunk consists of a name that ends with NUL, one byte for the compression method, and the compressed profile.
    if (type === 'iCCP' && !inflatesWithin(data.subarray(data.indexOf(0) + 2), MAX_PROFILE_BYTES))
      return `The PNG has a colour profile that is damaged, or larger than ${MAX_PROFILE_BYTES} bytes.`
  }
  return undefined
}

const ANIMATION: ReadonlySet<string> = new Set(['acTL', 'fcTL', 'fdAT'])
