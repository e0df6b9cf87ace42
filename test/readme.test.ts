import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { SETTINGS_SCHEMA } from '../sidecar/config/schema.ts'
import { API_ERRORS } from '../sidecar/errors.ts'
import { inCode, readDocument, section, tableRows } from './support/documents.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const README = readDocument('README.md')
const missing = (names: Iterable<string>) => [...names].filter((name) => !README.includes(name))

describe('the README', () => {
  it('tells what to do about every warning and error of the sidecar', () => {
    const sources = readdirSync(join(ROOT, 'sidecar'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(ROOT, 'sidecar', name), 'utf8'))
    const events = sources.flatMap((text) =>
      [...text.matchAll(/log\.(?:warn|error)\(\s*'([a-z-]+)'/g)].map(([, event]) => `\`${event}\``),
    )
    expect(events.length).to.be.above(15)
    expect(missing(events)).to.deep.equal([])
  })

  it('names every error code of the API', () => {
    expect(missing(Object.keys(API_ERRORS).map((code) => `\`${code}\``))).to.deep.equal([])
  })

  it('names every member of the configuration of the sidecar', () => {
    expect(missing(membersOf(SETTINGS_SCHEMA))).to.deep.equal([])
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

function membersOf(schema: unknown): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const { properties = {} } = schema as { properties?: Record<string, unknown> }
  return Object.entries(properties).flatMap(([name, member]) => [name, ...membersOf(member)])
}
