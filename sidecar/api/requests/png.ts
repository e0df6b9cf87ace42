import { crc32, inflateSync } from 'node:zlib'

/** Width and height of an avatar in pixels. */
const SIDE = 64

/**
 * What is wrong with an avatar's bytes, as a sentence; undefined when they are a PNG of 64x64 pixels that a phone can
 * show. Decodes it for that, down to the filter of each scanline: other stations' phones get what passes here.
 * Source: PNG specification (ISO/IEC 15948).
 */
export function pngFault(bytes: Buffer): string | undefined {
  if (!bytes.subarray(0, SIGNATURE.length).equals(SIGNATURE)) return 'It is not a PNG.'
  const chunks = readChunks(bytes.subarray(SIGNATURE.length))
  if (typeof chunks === 'string') return chunks
  const header = readHeader(chunks[0])
  if (typeof header === 'string') return header
  return orderFault(chunks, header) ?? pixelFault(chunks, header)
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
    const length = bytes.readUInt32BE(at)
    const end = at + CHUNK_OVERHEAD + length
    if (end > bytes.length) return 'The PNG ends in the middle of a chunk.'
    const type = bytes.toString('latin1', at + 4, at + 8)
    if (!/^[A-Za-z]{4}$/.test(type)) return 'The PNG has a chunk without a proper type.'
    if (crc32(bytes.subarray(at + 4, end - 4)) !== bytes.readUInt32BE(end - 4))
      return 'The PNG has a chunk whose checksum is wrong.'
    chunks.push({ type, data: bytes.subarray(at + 8, end - 4) })
    at = end
  }
  return chunks
}

interface Header {
  readonly depth: number
  readonly colour: number
  readonly bitsPerPixel: number
  readonly interlaced: boolean
}

/** Samples per pixel and allowed bit depths of each colour type. */
const COLOUR_TYPES: ReadonlyMap<number, { readonly samples: number; readonly depths: readonly number[] }> = new Map([
  [0, { samples: 1, depths: [1, 2, 4, 8, 16] }],
  [2, { samples: 3, depths: [8, 16] }],
  [3, { samples: 1, depths: [1, 2, 4, 8] }],
  [4, { samples: 2, depths: [8, 16] }],
  [6, { samples: 4, depths: [8, 16] }],
])
const PALETTE_COLOUR = 3

function readHeader(chunk: Chunk | undefined): Header | string {
  if (chunk?.type !== 'IHDR' || chunk.data.length !== 13) return 'The PNG does not begin with its header.'
  const { data } = chunk
  if (data.readUInt32BE(0) !== SIDE || data.readUInt32BE(4) !== SIDE) return 'The PNG is not 64x64 pixels.'
  const [depth = 0, colour = 0, compression, filter, interlace] = data.subarray(8)
  const kind = COLOUR_TYPES.get(colour)
  if (!kind?.depths.includes(depth)) return 'The PNG has a colour type or bit depth that does not exist.'
  if (compression !== 0 || filter !== 0 || (interlace !== 0 && interlace !== 1))
    return 'The PNG has a compression, filter or interlace method that does not exist.'
  return { depth, colour, bitsPerPixel: depth * kind.samples, interlaced: interlace === 1 }
}

function orderFault(chunks: readonly Chunk[], { colour, depth }: Header): string | undefined {
  const types = chunks.map(({ type }) => type)
  const end = types.indexOf('IEND')
  if (end !== types.length - 1 || chunks[end]?.data.length !== 0) return 'The PNG does not end where it should.'
  const unknown = types.some((type) => /^[A-Z]/.test(type) && !['IHDR', 'PLTE', 'IDAT', 'IEND'].includes(type))
  if (unknown) return 'The PNG has a critical chunk that does not exist.'
  const first = types.indexOf('IDAT')
  const last = types.lastIndexOf('IDAT')
  if (first < 0) return 'The PNG has no image data.'
  if (types.lastIndexOf('IHDR') !== 0 || types.slice(first, last).some((type) => type !== 'IDAT'))
    return 'The PNG has its chunks in the wrong order.'
  const palettes = chunks.filter(({ type }) => type === 'PLTE')
  const [palette] = palettes
  if (!palette) return colour === PALETTE_COLOUR ? 'The PNG has no palette.' : undefined
  const room = colour === PALETTE_COLOUR ? 2 ** depth : 256
  const entries = palette.data.length / 3
  const fits = palettes.length === 1 && types.indexOf('PLTE') < first && Number.isInteger(entries)
  return fits && entries >= 1 && entries <= room && colour !== 0 && colour !== 4
    ? undefined
    : 'The PNG has a bad palette.'
}

function pixelFault(chunks: readonly Chunk[], header: Header): string | undefined {
  const rows = rowLengths(header)
  const size = rows.reduce((sum, length) => sum + length, 0)
  const data = Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map((chunk) => chunk.data))
  let raw: Buffer
  try {
    // Bounded by what such an image has (at most about 33 KB): a few bytes of zlib can stand for gigabytes.
    raw = inflateSync(data, { maxOutputLength: size })
  } catch {
    return 'The PNG has image data that cannot be decompressed.'
  }
  if (raw.length !== size) return 'The PNG has too few pixels.'
  let at = 0
  for (const length of rows) {
    if ((raw[at] ?? NO_FILTER) >= NO_FILTER) return 'The PNG has a scanline filter that does not exist.'
    at += length
  }
  return undefined
}

/** Filters are 0 to 4. */
const NO_FILTER = 5

/** Of each pass of an interlaced image (Adam7): first column and row, distance of columns and rows. */
const PASSES = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const

/** Bytes of each scanline in order, its filter byte included. */
function rowLengths({ bitsPerPixel, interlaced }: Header): readonly number[] {
  const passes = interlaced ? PASSES : ([[0, 0, 1, 1]] as const)
  return passes.flatMap(([left, top, right, down]) => {
    const columns = Math.ceil((SIDE - left) / right)
    const rows = Math.ceil((SIDE - top) / down)
    return new Array<number>(rows).fill(1 + Math.ceil((columns * bitsPerPixel) / 8))
  })
}
