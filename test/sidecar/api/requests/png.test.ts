import { deflateSync } from 'node:zlib'
import { expect } from 'chai'
import fc from 'fast-check'
import { pngFault } from '../../../../sidecar/api/requests/png.ts'
import { type PngChunk, pngChunks, pngFile } from '../../../support/png-file.ts'

const fault = (...parts: Parameters<typeof pngChunks>) => pngFault(pngFile(pngChunks(...parts)))

/** A 64x64 PNG with a header that ends in these bytes: bit depth, colour type, compression, filter, interlace. */
function pngWith(layout: readonly number[], data: Buffer, extra: readonly PngChunk[] = []): Buffer {
  const [header, , end] = pngChunks()
  header!.data.set(layout, 8)
  return pngFile([header!, ...extra, { type: 'IDAT', data }, end!])
}
const rows = (count: number, bytes: number, filter = 0) => {
  const row = Buffer.alloc(1 + bytes)
  row[0] = filter
  return Buffer.concat(Array<Buffer>(count).fill(row))
}
const GREY_1 = [1, 0, 0, 0, 0]
const PALETTE_1 = [1, 3, 0, 0, 0]
const RGB_8 = [8, 2, 0, 0, 0]
const RGB_16 = [16, 2, 0, 0, 0]
const GREY_ALPHA_8 = [8, 4, 0, 0, 0]
const RGBA_8 = [8, 6, 0, 0, 0]
const UNDECODABLE = 'The PNG has image data that does not decode to its pixels.'
const iccp = (profile: Buffer) => ({
  type: 'iCCP',
  data: Buffer.concat([Buffer.from('name\0\0'), deflateSync(profile)]),
})

describe('An avatar image', () => {
  it('accepts a PNG with several data chunks and uncompressed text', () => {
    const [header, data, end] = pngChunks()
    const half = { type: 'IDAT', data: data!.data.subarray(0, 5) }
    const rest = { type: 'IDAT', data: data!.data.subarray(5) }
    const text = { type: 'tEXt', data: Buffer.from('a\0b') }
    expect(pngFault(pngFile([header!, text, half, rest, text, end!]))).to.equal(undefined)
  })

  for (const [size, options] of [
    ['63x64', { width: 63 }],
    ['64x65', { height: 65 }],
    ['0x0', { width: 0, height: 0 }],
  ] as const) {
    // Shows: sidecar 5.3, 21.5.
    it(`refuses a PNG avatar of ${size} pixels`, () => {
      expect(fault(options)).to.equal('The PNG is not 64x64 pixels.')
    })
  }

  // Shows: sidecar 21.5.
  it('refuses an avatar image that is not a PNG', () => {
    expect(pngFault(Buffer.from('GIF89a'))).to.equal('It is not a PNG.')
    expect(pngFault(Buffer.alloc(0))).to.equal('It is not a PNG.')
  })

  // Shows: sidecar 5.3.
  it('refuses a PNG with any single bit flipped', () => {
    const good = pngFile()
    expect(pngFault(good)).to.equal(undefined)
    fc.assert(
      fc.property(fc.nat(good.length - 1), fc.nat(7), (index, bit) => {
        const bad = Buffer.from(good)
        bad[index]! ^= 1 << bit
        expect(pngFault(bad)).to.be.a('string')
      }),
    )
  })

  it('refuses a truncated PNG, or one with bytes after its end', () => {
    const good = pngFile()
    for (let length = 0; length < good.length; length++) expect(pngFault(good.subarray(0, length))).to.be.a('string')
    expect(pngFault(good.subarray(0, good.length - 1))).to.equal('The PNG ends in the middle of a chunk.')
    expect(pngFault(Buffer.concat([good, Buffer.from('x')]))).to.be.a('string')
    expect(pngFault(Buffer.concat([good, pngFile().subarray(8)]))).to.equal('The PNG does not end with IEND.')
  })

  it('refuses a PNG without image data', () => {
    const chunks = pngChunks().filter(({ type }) => type !== 'IDAT')
    expect(pngFault(pngFile(chunks))).to.equal('The PNG has no image data.')
  })

  // Shows: sidecar 5.3.
  it('refuses a PNG with image data that is not compressed, or ends early', () => {
    expect(pngFault(pngWith(RGBA_8, Buffer.from([7, 99, 180, 3])))).to.equal(UNDECODABLE)
    const whole = deflateSync(rows(64, 256))
    for (let length = 0; length < whole.length; length++)
      expect(pngFault(pngWith(RGBA_8, whole.subarray(0, length)))).to.equal(UNDECODABLE)
  })

  it('refuses a PNG with too few or too many rows of image data', () => {
    for (const data of [rows(63, 256), rows(65, 256), Buffer.alloc(30_000_000)])
      expect(pngFault(pngWith(RGBA_8, deflateSync(data)))).to.equal(UNDECODABLE)
  })

  it('refuses a PNG with a row of an unknown filter type', () => {
    for (const filter of [0, 4]) expect(pngFault(pngWith(GREY_1, deflateSync(rows(64, 8, filter))))).to.equal(undefined)
    const last = Buffer.concat([rows(63, 8), rows(1, 8, 5)])
    expect(pngFault(pngWith(GREY_1, deflateSync(last)))).to.equal('The PNG has a row with an unknown filter.')
  })

  it('accepts a PNG with any colour type and bit depth that the specification permits', () => {
    for (const [colourType, samples, depths] of [
      [0, 1, [1, 2, 4, 8, 16]],
      [2, 3, [8, 16]],
      [4, 2, [8, 16]],
      [6, 4, [8, 16]],
    ] as const)
      for (const depth of depths) {
        const data = deflateSync(rows(64, (64 * depth * samples) / 8))
        expect(pngFault(pngWith([depth, colourType, 0, 0, 0], data))).to.equal(undefined)
      }
    for (const [depth, colourType] of [
      [3, 0],
      [4, 2],
      [16, 3],
      [8, 5],
    ] as const)
      expect(pngFault(pngWith([depth, colourType, 0, 0, 0], deflateSync(rows(64, 64))))).to.match(/header/)
  })

  it('accepts an interlaced PNG only if it has exactly the rows of its seven passes', () => {
    const passes = [rows(8, 8), rows(8, 8), rows(8, 16), rows(16, 16), rows(16, 32), rows(32, 32), rows(32, 64)]
    const data = Buffer.concat(passes)
    expect(pngFault(pngWith([8, 0, 0, 0, 1], deflateSync(data)))).to.equal(undefined)
    expect(pngFault(pngWith([8, 0, 0, 0, 1], deflateSync(rows(64, 64))))).to.equal(UNDECODABLE)
    expect(pngFault(pngWith([8, 0, 0, 0, 2], deflateSync(data)))).to.match(/header/)
  })

  it('refuses a PNG with a missing or superfluous palette, or one of an invalid size', () => {
    const palette = (bytes: number) => [{ type: 'PLTE', data: Buffer.alloc(bytes) }]
    const data = deflateSync(rows(64, 8))
    expect(pngFault(pngWith(PALETTE_1, data, palette(6)))).to.equal(undefined)
    expect(pngFault(pngWith(PALETTE_1, data))).to.equal('The PNG has no palette.')
    expect(pngFault(pngWith(PALETTE_1, data, palette(3)))).to.equal(undefined)
    for (const bytes of [0, 4, 9]) expect(pngFault(pngWith(PALETTE_1, data, palette(bytes)))).to.match(/palette/)
    expect(pngFault(pngWith(GREY_1, data, palette(6)))).to.match(/palette/)
    expect(pngFault(pngWith(GREY_ALPHA_8, deflateSync(rows(64, 128)), palette(6)))).to.match(/palette/)
  })

  it('accepts a suggested palette of up to 256 colours in a PNG with true colour', () => {
    const palette = (colours: number) => [{ type: 'PLTE', data: Buffer.alloc(3 * colours) }]
    for (const [layout, data] of [
      [RGB_8, deflateSync(rows(64, 192))],
      [RGB_16, deflateSync(rows(64, 384))],
    ] as const) {
      expect(pngFault(pngWith(layout, data, palette(256)))).to.equal(undefined)
      expect(pngFault(pngWith(layout, data, palette(257)))).to.match(/palette/)
    }
  })

  it('refuses a PNG with two palettes, or with its palette after the image data', () => {
    const palette = { type: 'PLTE', data: Buffer.alloc(6) }
    const data = deflateSync(rows(64, 8))
    expect(pngFault(pngWith(PALETTE_1, data, [palette, palette]))).to.match(/palette/)
    const [header, image, end] = pngChunks()
    expect(pngFault(pngFile([header!, image!, palette, end!]))).to.match(/palette/)
  })

  // Shows: sidecar 5.3.
  it('refuses an animated PNG', () => {
    for (const type of ['acTL', 'fcTL', 'fdAT'])
      expect(fault({ extra: [{ type, data: Buffer.alloc(8) }] })).to.equal('The PNG is animated.')
  })

  it('refuses a PNG with compressed text, but accepts uncompressed text', () => {
    const text = (type: string, data: string) => fault({ extra: [{ type, data: Buffer.from(data, 'latin1') }] })
    expect(text('iTXt', 'a\0\0\0\0\0b')).to.equal(undefined)
    for (const [type, data] of [
      ['zTXt', 'a\0\0x'],
      ['iTXt', 'a\0\x01\0\0\0x'],
    ] as const)
      expect(text(type, data)).to.equal('The PNG has compressed text.')
  })

  // Shows: sidecar 5.3.
  it('refuses a PNG with a colour profile that inflates to more than 64 KiB', () => {
    expect(fault({ extra: [iccp(Buffer.alloc(65_536))] })).to.equal(undefined)
    for (const chunk of [
      iccp(Buffer.alloc(65_537)),
      iccp(Buffer.alloc(17_000_000)),
      { type: 'iCCP', data: Buffer.alloc(9) },
    ])
      expect(fault({ extra: [chunk] })).to.match(/colour profile/)
  })

  it('refuses a PNG with an unknown or repeated critical chunk, or split image data', () => {
    expect(fault({ extra: [{ type: 'ABCD', data: Buffer.alloc(0) }] })).to.equal(
      'The PNG has a chunk that decoders refuse.',
    )
    const [header, data, end] = pngChunks()
    expect(pngFault(pngFile([header!, header!, data!, end!]))).to.equal('The PNG has a chunk that decoders refuse.')
    const text = { type: 'tEXt', data: Buffer.from('a\0b') }
    expect(pngFault(pngFile([header!, data!, text, data!, end!]))).to.equal('The PNG has image data in two places.')
  })
})
