import { expect } from 'chai'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { keepCase, readCases } from './cases.ts'
import { fuzz } from './fuzz.ts'
import { pure } from './target.ts'
import { TARGETS } from './targets/all.ts'

const FEW = 40

describe('The fuzzer', () => {
  const folder = temporaryFolder()
  const fragile = pure('fragile', ['one {two} three'], (input) => {
    if (input.includes('}{')) throw new Error('a closed brace before an open one')
  })

  it('the fuzzer finds a breaking input, shrinks it, and finds it again by its seed', async () => {
    const outcome = await fuzz(fragile, { seed: 1, inputs: 100_000 })
    expect(outcome.broken?.what).to.include('a closed brace')
    expect(outcome.broken?.input.includes('}{')).to.equal(true)
    expect(outcome.broken?.input.length).to.be.below(40)
    expect(await fuzz(fragile, { seed: 1, inputs: 100_000 })).to.deep.equal(outcome)
  })

  it('the fuzzer tries the requested number of inputs if no input breaks the target', async () => {
    const sturdy = pure('sturdy', ['x'], () => undefined)
    expect(await fuzz(sturdy, { seed: 1, inputs: 500 })).to.deep.equal({ tried: 500 })
  })

  it('the fuzzer saves an input that broke its target as a case for later runs', () => {
    expect(readCases('fragile', folder.path()).size).to.equal(0)
    keepCase('fragile', 'a closed brace', Buffer.of(0xff, 0x00), folder.path())
    const [keptCase] = readCases('fragile', folder.path()).values()
    expect(keptCase).to.deep.equal({ what: 'a closed brace', input: '/wA=' })
  })
})

for (const [name, load] of Object.entries(TARGETS)) {
  describe(`The fuzz target ${name}`, () => {
    it(`the fuzz target ${name} passes a short run of the fuzzer`, async () => {
      const target = await load()
      expect(target.name).to.equal(name)
      expect(await fuzz(target, { seed: 1, inputs: FEW })).to.deep.equal({ tried: FEW })
    })

    for (const [file, { input }] of readCases(name))
      it(`the fuzz target ${name} passes with the saved input ${file}`, async () => {
        const subject = await (await load()).open()
        try {
          await subject.check(Buffer.from(input, 'base64'))
        } finally {
          await subject.close()
        }
      })
  })
}
