import { crc32, deflateSync } from 'node:zlib'

export interface PngChunk {
  readonly type: string
  readonly data: Buffer
}

export interface PngOptions {
  readonly width?: number
  readonly height?: number
  /** Chunks between the header and the image data, such as text. */
  readonly extra?: readonly PngChunk[]
}

/** Returns the chunks of a transparent PNG: 8 bits, RGBA, without a filter. Default: 64x64 pixels. */
export function pngChunks(options: PngOptions = {}): PngChunk[] {
  const { width = 64, height = 64, extra = [] } = options
  const row = 1 + 4 * width
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 6, 0, 0, 0], 8)
  return [
    { type: 'IHDR', data: header },
    ...extra,
    { type: 'IDAT', data: deflateSync(Buffer.alloc(row * height)) },
    { type: 'IEND', data: Buffer.alloc(0) },
  ]
}

/** Returns a PNG file: the signature, and the chunks with their checksums. */
export function pngFile(chunks: readonly PngChunk[] = pngChunks()): Buffer {
  const parts = chunks.map(({ type, data }) => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
    const frame = Buffer.alloc(8)
    frame.writeUInt32BE(data.length, 0)
    frame.writeUInt32BE(crc32(body), 4)
    return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)])
  })
  return Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), ...parts])
}
