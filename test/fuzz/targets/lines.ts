import { expect } from 'chai'
import { lineSplitter } from '../../../sidecar/aprsis/protocol/lines.ts'
import { pure } from '../target.ts'

const MAX_BYTES = 64

/** The stream from the network: the same lines come out of it however it is cut into chunks. */
export const lines = pure(
  'lines',
  ['one\r\ntwo\nthree\r\n', '\n\n\r\n', `${'x'.repeat(64)}\r\n${'y'.repeat(65)}\n`, '# comment\r\nN9CALL>APRS:x\r\n'],
  (stream) => {
    const whole = split([stream])
    const bytes = Array.from(stream, (_, index) => stream.subarray(index, index + 1))
    const uneven: Buffer[] = []
    for (let start = 0; start < stream.length; start += uneven.at(-1)?.length ?? 1)
      uneven.push(stream.subarray(start, start + 1 + ((stream[start] ?? 0) % 7)))
    expect(split(bytes)).to.deep.equal(whole)
    expect(split(uneven)).to.deep.equal(whole)
    for (const line of whole.lines) expect(line.length).to.be.within(1, MAX_BYTES)
  },
)

function split(chunks: readonly Buffer[]) {
  let tooLong = 0
  const take = lineSplitter(MAX_BYTES, () => {
    tooLong++
  })
  const lines = chunks.flatMap((chunk) => take(Buffer.from(chunk)))
  return { lines, tooLong }
}
