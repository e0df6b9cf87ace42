import { inflateSync } from 'node:zlib'

/** The parts of a PNG's header that determine the layout of its image data. */
export interface ImageHeader {
  readonly width: number
  readonly height: number
  readonly bitDepth: number
  readonly colour: Colour
  readonly interlaced: boolean
}

type Colour = 'grey' | 'rgb' | 'palette' | 'grey-alpha' | 'rgba'

/** Colour types by their number in the header. Source: PNG specification, table 11.1. */
const COLOUR_TYPES: Readonly<Record<number, { readonly colour: Colour; readonly bitDepths: readonly number[] }>> = {
  0: { colour: 'grey', bitDepths: [1, 2, 4, 8, 16] },
  2: { colour: 'rgb', bitDepths: [8, 16] },
  3: { colour: 'palette', bitDepths: [1, 2, 4, 8] },
  4: { colour: 'grey-alpha', bitDepths: [8, 16] },
  6: { colour: 'rgba', bitDepths: [8, 16] },
}

const SAMPLES: Readonly<Record<Colour, number>> = { grey: 1, rgb: 3, palette: 1, 'grey-alpha': 2, rgba: 4 }

const HEADER_BYTES = 13

/** Parses an IHDR chunk. If the chunk is invalid, returns the reason instead. */
export function readHeader(data: Buffer | undefined): ImageHeader | string {
  if (data?.length !== HEADER_BYTES) return 'The PNG does not begin with its header.'
  const [bitDepth = 0, colourType = 0, compression, filter, interlace] = data.subarray(8)
  const type = COLOUR_TYPES[colourType]
  const isSupported = compression === 0 && filter === 0 && (interlace === 0 || interlace === 1)
  if (!type?.bitDepths.includes(bitDepth) || !isSupported) return 'The PNG has a header that decoders refuse.'
  return {
    width: data.readUInt32BE(0),
    height: data.readUInt32BE(4),
    bitDepth,
    colour: type.colour,
    interlaced: interlace === 1,
  }
}

/** The passes of an interlaced image. Each lists first column, first row, column step and row step. */
const ADAM7 = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const
const WHOLE = [[0, 0, 1, 1]] as const

const MAX_FILTER_TYPE = 4

/**
 * Returns the fault in a PNG's image data; undefined if every row can be decoded. `compressed` is the joined content of
 * all IDAT chunks.
 */
export function imageDataFault(header: ImageHeader, compressed: Buffer): string | undefined {
  const rows = rowBytes(header)
  const expected = rows.reduce((sum, bytes) => sum + bytes, 0)
  const pixels = inflateWithin(compressed, expected)
  if (pixels?.length !== expected) return 'The PNG has image data that does not decode to its pixels.'
  let start = 0
  for (const bytes of rows) {
    if ((pixels[start] ?? 0) > MAX_FILTER_TYPE) return 'The PNG has a row with an unknown filter.'
    start += bytes
  }
  return undefined
}

/** Returns the size of each row of the image in order, in bytes. The first byte of each row names its PNG filter. */
function rowBytes({ width, height, bitDepth, colour, interlaced }: ImageHeader): readonly number[] {
  return (interlaced ? ADAM7 : WHOLE).flatMap(([column, row, columnStep, rowStep]) => {
    const columns = Math.ceil((width - column) / columnStep)
    const rows = Math.ceil((height - row) / rowStep)
    return Array<number>(rows).fill(1 + Math.ceil((columns * bitDepth * SAMPLES[colour]) / 8))
  })
}

/** Returns whether `compressed` is a complete zlib stream of at most `max` bytes. */
export function inflatesWithin(compressed: Buffer, max: number): boolean {
  return inflateWithin(compressed, max) !== undefined
}

function inflateWithin(compressed: Buffer, max: number): Buffer | undefined {
  try {
    // A small file can inflate to many megabytes.
    return inflateSync(compressed, { maxOutputLength: max })
  } catch {
    return undefined
  }
}
