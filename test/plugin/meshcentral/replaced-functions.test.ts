import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { REPLACED_FUNCTIONS, replaceFunction } from '../../../plugin/meshcentral/replaced-functions.ts'

const FOLDER = 'plugin/meshcentral'
const sources = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && name !== 'replaced-functions.ts')
  .map((name) => ({ name: name.replaceAll('\\', '/'), text: readFileSync(join(FOLDER, name), 'utf8') }))

describe('functions of MeshCentral that the plugin replaces', () => {
  it("a replaced function keeps its name, or gets the property's name if it has none", () => {
    const named = function original() {}
    const owner: Record<string, () => void> = { named }
    // MeshCentral assigns the function in this way, so the function has no name.
    owner.unnamed = (
      () => () =>
        undefined
    )()
    for (const member of ['named', 'unnamed']) replaceFunction('db.*', owner, member, () => () => undefined)
    expect(owner.named?.name).to.equal('original')
    expect(owner.unnamed?.name).to.equal('unnamed')
  })

  it('a replaced function appears in a stack trace under its original name', () => {
    const owner = { decodeCookie: () => new Error().stack ?? '' }
    replaceFunction('server.decodeCookie', owner, 'decodeCookie', (decode) => () => decode())
    const frames = owner.decodeCookie().split('\n').slice(1, 3)
    for (const frame of frames) expect(frame).to.match(/decodeCookie/)
  })

  it('a replaced function still calls the original with its object as `this`', () => {
    const owner = {
      value: 7,
      read() {
        return this.value
      },
    }
    replaceFunction('db.*', owner, 'read', (read) => () => read() + 1)
    expect(owner.read()).to.equal(8)
  })

  it('does not patch a function that MeshCentral lacks', () => {
    const owner: { decodeCookie?: () => null } = {}
    replaceFunction('server.decodeCookie', owner, 'decodeCookie', (decode) => decode)
    expect(owner).to.deep.equal({})
  })

  it('REPLACED_FUNCTIONS lists each replaced function with its source file', () => {
    const calls = sources.flatMap(({ name, text }) =>
      [...text.matchAll(/replaceFunction\(\s*'([^']+)'/g)].map(([, entry]) => `${entry} in ${name}`),
    )
    expect(calls.sort()).to.deep.equal(REPLACED_FUNCTIONS.map(({ name, file }) => `${name} in ${file}`).sort())
  })

  it('the plugin replaces functions of MeshCentral only by replaceFunction', () => {
    const members = ['handle', 'writeHead', 'emit', 'authenticate', 'checkAllowLogin', 'Set', 'Remove', 'redirect']
    const assignment = new RegExp(`\\.(?:${members.join('|')}) = |Reflect\\.set|Object\\.assign\\((?:app|web|db)\\b`)
    expect(sources.filter(({ text }) => assignment.test(text)).map(({ name }) => name)).to.deep.equal([])
  })
})
