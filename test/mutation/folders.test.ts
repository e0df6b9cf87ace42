import { existsSync } from 'node:fs'
import { expect } from 'chai'
import { FOLDERS } from './folders.ts'

describe('the folders of mutation tests', () => {
  it('are of rules and tests that there are', () => {
    const missing = FOLDERS.flatMap(({ rules, tests }) => [...rules, ...tests]).filter((path) => !existsSync(path))
    expect(missing).to.deep.equal([])
  })
})
