import { expect } from 'chai'
import fc from 'fast-check'
import { lineSplitter, MAX_LINE_BYTES } from '../../../../sidecar/aprsis/protocol/lines.ts'

describe('The line splitter', () => {
  let tooLong: number
  const splitter = (maxBytes = MAX_LINE_BYTES) => {
    tooLong = 0
    const split = lineSplitter(maxBytes, () => {
      tooLong += 1
    })
    return (chunk: string) => split(Buffer.from(chunk, 'latin1'))
  }

  it('splitting lines keeps bytes above 0x7f, and a CR within a line', () => {
    expect(splitter()('\xc3\xff\x80 a\rb\r\n')).to.deep.equal(['\xc3\xff\x80 a\rb'])
  })

  it('accepts a line of the maximum length, wherever the stream is split', () => {
    const line = 'x'.repeat(MAX_LINE_BYTES)
    expect(splitter()(`${line}\r\n`)).to.deep.equal([line])
    const split = splitter()
    for (const char of `${line}\r`) expect(split(char)).to.deep.equal([])
    expect(split('\n')).to.deep.equal([line])
    expect(tooLong).to.equal(0)
  })

  // Shows: sidecar C7.18.
  it('drops a line over the maximum length, counts it, and continues with the next', () => {
    const split = splitter()
    expect(split(`before\n${'x'.repeat(MAX_LINE_BYTES + 1)}\nafter\n`)).to.deep.equal(['before', 'after'])
    expect(tooLong).to.equal(1)
    for (let chunk = 0; chunk < 100; chunk++) expect(split('y'.repeat(65_536))).to.deep.equal([])
    expect(split('end of it\nnext\n')).to.deep.equal(['next'])
    expect(tooLong).to.equal(2)
  })

  // Shows: sidecar C7.18.
  it('does not buffer a line without end in memory', () => {
    const split = lineSplitter(MAX_LINE_BYTES, () => {})
    const chunk = Buffer.alloc(1024 * 1024, 'x')
    const usageBefore = process.memoryUsage().arrayBuffers
    for (let count = 0; count < 50; count++) split(Buffer.from(chunk))
    global.gc?.()
    expect(split(Buffer.from('\nnext\n'))).to.deep.equal(['next'])
    expect(process.memoryUsage().arrayBuffers - usageBefore).to.be.lessThan(60 * 1024 * 1024)
  })

  it('finds the same lines wherever the stream is split', () => {
    const max = 8
    const stream = fc.array(fc.oneof(fc.constantFrom('\n', '\r\n', '\r'), fc.string({ maxLength: 12 })), {
      maxLength: 30,
    })
    fc.assert(
      fc.property(stream, fc.array(fc.nat({ max: 20 }), { maxLength: 40 }), (parts, cuts) => {
        const text = parts.join('')
        const whole = Buffer.from(text)
        const match: string[] = []
        const split = lineSplitter(max, () => {})
        let index = 0
        for (const cut of [...cuts, whole.length]) {
          match.push(...split(whole.subarray(index, index + cut)))
          index += cut
        }
        const ended = whole.toString('latin1').split('\n').slice(0, -1)
        const lines = ended.map((line) => line.replace(/\r$/, ''))
        expect(match).to.deep.equal(lines.filter((line) => line !== '' && line.length <= max))
      }),
    )
  })
})
