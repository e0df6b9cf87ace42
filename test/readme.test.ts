import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { DEPRECATED_NAMES } from '../plugin/config/migration/deprecated-keys.ts'
import { WARNING_CODES } from '../plugin/config/problem.ts'
import { oidcSchema } from '../plugin/config/rules/schema.ts'
import { LOGIN_ERRORS } from '../plugin/errors.ts'
import { PRESETS } from '../plugin/presets/all.ts'
import { SETTINGS_SCHEMA } from '../sidecar/config/schema.ts'
import { API_ERRORS } from '../sidecar/errors.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const README = readFileSync(join(ROOT, 'README.md'), 'utf8')
const missing = (names: Iterable<string>) => [...names].filter((name) => !README.includes(name))

describe('the README', () => {
  it('tells the remedy of every way in which a login fails, and of none that there is not', () => {
    const section = README.slice(
      README.indexOf('### When a login fails'),
      README.indexOf('### When the sidecar complains'),
    )
    const rows = [...section.matchAll(/^\| `([a-z_]+)` +\|/gm)].map(([, code]) => code)
    expect(rows.toSorted()).to.deep.equal(Object.keys(LOGIN_ERRORS).toSorted())
  })

  it('tells what to do about every warning of a configuration, and of none that there is not', () => {
    const section = README.slice(
      README.indexOf('### When a configuration has warnings'),
      README.indexOf('### When a login fails'),
    )
    const codes = [...section.matchAll(/^\| (`[a-z_]+`(?:, `[a-z_]+`)*) +\|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/[a-z_]+/g)].map(([code]) => code),
    )
    expect(codes.toSorted()).to.deep.equal(WARNING_CODES.toSorted())
  })

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

  it('names every member of both configurations, and every deprecated key', () => {
    expect(missing(membersOf(oidcSchema(PRESETS)))).to.deep.equal([])
    expect(missing(membersOf(SETTINGS_SCHEMA))).to.deep.equal([])
    expect(missing(DEPRECATED_NAMES)).to.deep.equal([])
  })

  it('names every command', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>
    }
    const commands = Object.keys(scripts).map((name) =>
      name === 'start' || name === 'test' ? `npm ${name}` : `npm run ${name}`,
    )
    expect(missing(commands)).to.deep.equal([])
  })
})

function membersOf(schema: unknown): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const { properties = {} } = schema as { properties?: Record<string, unknown> }
  return Object.entries(properties).flatMap(([name, member]) => [name, ...membersOf(member)])
}
