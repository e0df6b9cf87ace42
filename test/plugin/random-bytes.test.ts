import { expect } from 'chai'
import { createRandomBytes } from '../../plugin/random-bytes.ts'

describe('a source of random bytes', () => {
  it('gives as many as are asked for, and none of them twice', () => {
    const source = createRandomBytes()
    const sizes = Array.from({ length: 2_000 }, (_, at) => (at % 3 === 0 ? 96 : 12))
    const given = sizes.map((size) => source(size))
    expect(given.map(({ length }) => length)).to.deep.equal(sizes)
    expect(new Set(given.map((bytes) => bytes.toString('hex'))).size).to.equal(sizes.length)
    expect(source(10_000)).to.have.length(10_000)
  })

  it('changes nothing of what it gave before', () => {
    const source = createRandomBytes()
    const first = source(32)
    const text = first.toString('hex')
    for (let i = 0; i < 500; i += 1) source(32)
    expect(first.toString('hex')).to.equal(text)
  })
})
