import { expect } from 'chai'
import { LATEST_VERSION } from './meshcentral/support/installation.ts'
import { inCode, readDocument, section, tableRows } from './support/documents.ts'

const README = readDocument('README.md')

/** The npm commands that the tables in a text name. */
function commandsIn(text: string): ReadonlySet<string> {
  const codes = tableRows(text).flatMap((row) => row.flatMap(inCode))
  return new Set(codes.flatMap((code) => /^npm (?:run [\w:]+|start|test)/.exec(code)?.[0] ?? []))
}

describe('README of the package', () => {
  it('README has at most 160 lines', () => {
    expect(README.trimEnd().split('\n').length).to.be.at.most(160)
  })

  it('README names the MeshCentral version that the tests install', () => {
    const rows = tableRows(section(README, '## Tests'))
    expect(rows.find(([name]) => name === 'MeshCentral')?.[1]?.split(',')[0]).to.equal(LATEST_VERSION)
  })

  it('README lists the four commands that a newcomer needs', () => {
    expect(commandsIn(section(README, '## Commands'))).to.deep.equal(
      new Set(['npm start', 'npm test', 'npm run check', 'npm run sidecar']),
    )
  })
})

describe('CONTRIBUTING.md', () => {
  it('CONTRIBUTING.md lists exactly the npm scripts of the package', () => {
    const { scripts } = JSON.parse(readDocument('package.json')) as { scripts: Readonly<Record<string, string>> }
    const commands = Object.keys(scripts).map((name) =>
      name === 'start' || name === 'test' ? `npm ${name}` : `npm run ${name}`,
    )
    expect(commandsIn(section(readDocument('.github/CONTRIBUTING.md'), '## Commands'))).to.deep.equal(new Set(commands))
  })
})
