import { crc32 } from 'node:zlib'
import { type ImageHeader, imageDataFault, inflatesWithin, readHeader } from './png-image-data.ts'

/** Width and height of an avatar in pixels. */
const SIDE = 64

/** Bytes of an inflated colour profile: those in use have a few KB. */
const MAX_PROFILE_BYTES = 65_536

/**
 * Says what is wrong with an avatar's bytes, as a sentence; undefined for one whole PNG of 64x64 pixels that decodes.
 * Reads what phones would read, within bounds: an avatar goes to every receiver, and a small file can inflate to many
 * megabytes there.
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

function ofType(chunks: readonly Chunk[], type: string): readonly Buffer[] {
  return chunks.filter((chunk) => chunk.type === type).map(({ data }) => data)
}

function orderFault(types: readonly string[]): string | undefined {
  if (types.indexOf('IEND') !== types.length - 1) return 'The PNG does not end where it should.'
  // A type that begins with a capital is one that no decoder may pass over.
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
  const most = colour === 'palette' ? 2 ** bitDepth : 256
  const fits = Number.isInteger(entries) && entries >= 1 && entries <= most
  const placed = palettes.length === 1 && types.indexOf('PLTE') < types.indexOf('IDAT') && !colour.startsWith('grey')
  return fits && placed ? undefined : 'The PNG has a palette that decoders refuse.'
}

function extraFault(chunks: readonly Chunk[]): string | undefined {
  for (const { type, data } of chunks) {
    if (ANIMATION.has(type)) return 'The PNG is animated.'
    if (type === 'zTXt' || (type === 'iTXt' && data[data.indexOf(0) + 1] !== 0)) return 'The PNG has compressed text.'
    // A name, which a NUL ends, the compression method, and the profile.
    if (type === 'iCCP' && !inflatesWithin(data.subarray(data.indexOf(0) + 2), MAX_PROFILE_BYTES))
      return `The PNG has a colour profile that is damaged, or larger than ${MAX_PROFILE_BYTES} bytes.`
  }
  return undefined
}

const ANIMATION: ReadonlySet<string> = new Set(['acTL', 'fcTL', 'fdAT'])
