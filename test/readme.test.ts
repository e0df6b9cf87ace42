import { expect } from 'chai'
import { inCode, readDocument, section, tableRows } from './support/documents.ts'

const README = readDocument('README.md')

describe('the README', () => {
  it('is a front door that can be read in one go', () => {
    expect(README.trimEnd().split('\n').length).to.be.at.most(160)
  })

  it('claims the very MeshCentral that the tests install', () => {
    const source = readDocument('test/meshcentral/support/installation.ts')
    const [, version] = /installMeshCentral\(version = '([\d.]+)'/.exec(source) ?? []
    const rows = tableRows(section(README, '## What is tested'))
    expect(rows.find(([name]) => name === 'MeshCentral')?.[1]?.split(',')[0]).to.equal(version)
  })

  it('has a row for every command of the package, and none that there is not', () => {
    const { scripts } = JSON.parse(readDocument('package.json')) as { scripts: Readonly<Record<string, string>> }
    const commands = Object.keys(scripts).map((name) =>
      name === 'start' || name === 'test' ? `npm ${name}` : `npm run ${name}`,
    )
    const named = tableRows(section(README, '## Commands')).flatMap((row) => row.flatMap(inCode))
    const told = named.flatMap((code) => /^npm (?:run [\w:]+|start|test)/.exec(code)?.[0] ?? [])
    expect(new Set(told)).to.deep.equal(new Set(commands))
  })
})
