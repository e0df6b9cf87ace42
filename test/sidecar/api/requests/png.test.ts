import { expect } from 'chai'
import fc from 'fast-check'
import { pngFault } from '../../../../sidecar/api/requests/png.ts'
import { pngChunks, pngFile } from '../../../support/png-file.ts'

const fault = (...parts: Parameters<typeof pngChunks>) => pngFault(pngFile(pngChunks(...parts)))

describe('an avatar image', () => {
  it('may come in several data chunks, with text beside them', () => {
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

  it('is refused without image data', () => {
    const chunks = pngChunks().filter(({ type }) => type !== 'IDAT')
    expect(pngFault(pngFile(chunks))).to.equal('The PNG has no image data.')
  })
})
