import { randomBytes } from 'node:crypto'
import { deflateSync } from 'node:zlib'
import { expect } from 'chai'
import fc from 'fast-check'
import { pngFault } from '../../../../sidecar/api/requests/png.ts'
import { pngChunks, pngFile } from '../../../support/png-file.ts'

const idat = (raw: Buffer) => ({ type: 'IDAT', data: deflateSync(raw) })
const palette = (entries: number) => ({ type: 'PLTE', data: Buffer.alloc(3 * entries) })
const fault = (...parts: Parameters<typeof pngChunks>) => pngFault(pngFile(pngChunks(...parts)))

/** The chunks of a good file with the one of `type` replaced. */
function withChunk(type: string, ...replacement: ReturnType<typeof pngChunks>) {
  return pngFault(pngFile(pngChunks().flatMap((chunk) => (chunk.type === type ? replacement : [chunk]))))
}

describe('an avatar image', () => {
  for (const [colour, depths] of [
    [0, [1, 2, 4, 8, 16]],
    [2, [8, 16]],
    [3, [1, 2, 4, 8]],
    [4, [8, 16]],
    [6, [8, 16]],
  ] as const) {
    for (const depth of depths) {
      it(`may be a 64x64 PNG of colour type ${colour} with ${depth} bits`, () => {
        expect(fault({ colour, depth, extra: colour === 3 ? [palette(2)] : [] })).to.equal(undefined)
      })
    }
  }

  it('may be interlaced', () => {
    // 7 passes of 8x8, 8x8, 16x8, 16x16, 32x16, 32x32 and 64x32 pixels, a filter byte before each line.
    const raw = Buffer.alloc(8 * 33 + 8 * 33 + 8 * 65 + 16 * 65 + 16 * 129 + 32 * 129 + 32 * 257)
    expect(fault({ interlace: 1, raw })).to.equal(undefined)
    expect(fault({ interlace: 1, raw: raw.subarray(1) })).to.equal('The PNG has too few pixels.')
  })

  it('may come in several data chunks, with text beside them', () => {
    const [header, data, end] = pngChunks()
    const half = { type: 'IDAT', data: data!.data.subarray(0, 5) }
    const rest = { type: 'IDAT', data: data!.data.subarray(5) }
    const text = { type: 'tEXt', data: Buffer.from('a\0b') }
    expect(pngFault(pngFile([header!, text, half, rest, text, end!]))).to.equal(undefined)
    expect(pngFault(pngFile([header!, half, text, rest, end!]))).to.equal('The PNG has its chunks in the wrong order.')
  })

  for (const [size, options] of [
    ['63x64', { width: 63 }],
    ['64x65', { height: 65 }],
    ['0x0', { width: 0, height: 0 }],
  ] as const) {
    it(`is refused at ${size}`, () => {
      expect(fault(options)).to.equal('The PNG is not 64x64 pixels.')
    })
  }

  it('is refused when it is something else', () => {
    expect(pngFault(Buffer.from('GIF89a'))).to.equal('It is not a PNG.')
    expect(pngFault(Buffer.alloc(0))).to.equal('It is not a PNG.')
  })

  it('is refused when a single bit is wrong, wherever it is', () => {
    const good = pngFile()
    expect(pngFault(good)).to.equal(undefined)
    fc.assert(
      fc.property(fc.nat(good.length - 1), fc.nat(7), (at, bit) => {
        const bad = Buffer.from(good)
        bad[at]! ^= 1 << bit
        expect(pngFault(bad)).to.be.a('string')
      }),
    )
  })

  it('is refused when it is cut off anywhere, or goes on behind its end', () => {
    const good = pngFile()
    for (let length = 0; length < good.length; length++) expect(pngFault(good.subarray(0, length))).to.be.a('string')
    expect(pngFault(Buffer.concat([good, Buffer.from('x')]))).to.be.a('string')
    expect(pngFault(Buffer.concat([good, pngFile().subarray(8)]))).to.equal('The PNG does not end where it should.')
  })

  it('is refused when its pixels are missing, too few, too many or no zlib', () => {
    expect(withChunk('IDAT')).to.equal('The PNG has no image data.')
    expect(withChunk('IDAT', idat(Buffer.alloc(64 * 257 - 1)))).to.equal('The PNG has too few pixels.')
    const broken = 'The PNG has image data that cannot be decompressed.'
    expect(withChunk('IDAT', idat(Buffer.alloc(64 * 257 + 1)))).to.equal(broken)
    expect(withChunk('IDAT', { type: 'IDAT', data: randomBytes(100) })).to.equal(broken)
  })

  it('is refused when it would inflate to gigabytes, without inflating it', () => {
    const bomb = idat(Buffer.alloc(50_000_000))
    const before = process.memoryUsage().arrayBuffers
    expect(withChunk('IDAT', bomb)).to.equal('The PNG has image data that cannot be decompressed.')
    expect(process.memoryUsage().arrayBuffers - before).to.be.lessThan(10_000_000)
  })

  it('is refused when a scanline has a filter that does not exist', () => {
    const raw = Buffer.alloc(64 * 257)
    raw[63 * 257] = 4
    expect(fault({ raw })).to.equal(undefined)
    raw[63 * 257] = 5
    expect(fault({ raw })).to.equal('The PNG has a scanline filter that does not exist.')
  })

  it('is refused when its header says what does not exist', () => {
    expect(fault({ colour: 1 })).to.equal('The PNG has a colour type or bit depth that does not exist.')
    expect(fault({ colour: 6, depth: 4 })).to.equal('The PNG has a colour type or bit depth that does not exist.')
    expect(fault({ interlace: 2 })).to.equal(
      'The PNG has a compression, filter or interlace method that does not exist.',
    )
  })

  it('is refused when its palette is missing, too big, misplaced or not for it', () => {
    expect(fault({ colour: 3 })).to.equal('The PNG has no palette.')
    expect(fault({ colour: 3, depth: 2, extra: [palette(5)] })).to.equal('The PNG has a bad palette.')
    expect(fault({ colour: 3, extra: [palette(2), palette(2)] })).to.equal('The PNG has a bad palette.')
    expect(fault({ colour: 0, extra: [palette(2)] })).to.equal('The PNG has a bad palette.')
    expect(fault({ colour: 3, extra: [{ type: 'PLTE', data: Buffer.alloc(4) }] })).to.equal(
      'The PNG has a bad palette.',
    )
    expect(fault({ colour: 2, extra: [palette(256)] })).to.equal(undefined)
  })

  it('is refused when it has a critical chunk that nobody knows', () => {
    expect(fault({ extra: [{ type: 'ABCD', data: Buffer.alloc(1) }] })).to.equal(
      'The PNG has a critical chunk that does not exist.',
    )
    expect(fault({ extra: [{ type: '1234', data: Buffer.alloc(1) }] })).to.equal(
      'The PNG has a chunk without a proper type.',
    )
  })
})
