import { expect } from 'chai'
import { readDocument } from './support/documents.ts'

const { scripts } = JSON.parse(readDocument('package.json')) as { scripts: Readonly<Record<string, string>> }

/** Characters without a meaning in `sh` and in `cmd.exe`, outside quotes and inside double quotes. */
const PLAIN = String.raw`[\w./:=,@-]+`
const QUOTED = String.raw`"[\w./:=,@ *?{}-]+"`
const ONE_COMMAND = new RegExp(`^node(?: (?:${PLAIN}|${QUOTED}))+$`)

describe('the scripts of the package', () => {
  for (const [name, script] of Object.entries(scripts))
    it(`script ${name} is one plain command that sh and cmd.exe run`, () => {
      expect(script).to.match(ONE_COMMAND)
    })
})
