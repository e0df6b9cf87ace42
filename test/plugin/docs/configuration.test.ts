import { expect } from 'chai'
import { DEPRECATED_NAMES, moveDeprecatedKeys } from '../../../plugin/config/migration/deprecated-keys.ts'
import type { MemberSchema } from '../../../plugin/config/rules/schema/member-schema.ts'
import { oidcSchema } from '../../../plugin/config/rules/schema/schema.ts'
import { AUTH_METHODS, RESPONSE_MODES } from '../../../plugin/config/settings.ts'
import { check } from '../../../plugin/doctor/check.ts'
import { readCheckMinutes } from '../../../plugin/meshcentral/start/plugin-settings.ts'
import { PRESETS } from '../../../plugin/presets/presets.ts'
import { inCode, readDocument, section, tableRows } from '../../support/documents.ts'
import * as oneDomain from '../config/single-domain.ts'

const PAGE = readDocument('plugin/docs/configuration.md')
const SCHEMA = oidcSchema(PRESETS)

const memberOf = (name: string): MemberSchema => {
  const member = SCHEMA.properties?.[name]
  if (!member) throw new Error(`no member ${name}`)
  return member
}
const namesOf = ({ properties = {} }: MemberSchema) => Object.keys(properties)

interface Row {
  readonly names: readonly string[]
  readonly cells: readonly string[]
}

/** Returns the rows of the tables below a heading: the members that a row names, and its other cells. */
function rowsOf(heading: string): readonly Row[] {
  return tableRows(section(PAGE, heading)).map(([names = '', ...cells]) => ({ names: inCode(names), cells }))
}

/** Returns the settings of a strategy with only required members and `more`. */
const settingsOf = (more: object = {}) => oneDomain.settingsOf({ ...oneDomain.MINIMAL, ...more }, {}, { cert: 'host' })

describe('documentation page on the configuration', () => {
  for (const [heading, schema] of [
    ['## The `oidc` object', SCHEMA],
    ['## The `issuer` object', memberOf('issuer')],
    ['## The `client` object', memberOf('client')],
    ['## The `custom` object', memberOf('custom')],
    ['## The `groups` object', memberOf('groups')],
  ] as const) {
    it(`the configuration page has a row for exactly the members of ${heading.slice(3)}`, () => {
      expect(rowsOf(heading).flatMap(({ names }) => names)).to.have.members(namesOf(schema))
    })
  }

  it('the configuration page documents the members of nested objects', () => {
    for (const [heading, schema] of [
      ['## The `custom` object', memberOf('custom')],
      ['## The `groups` object', memberOf('groups')],
    ] as const) {
      const text = section(PAGE, heading)
      for (const name of Object.values(schema.properties ?? {}).flatMap(namesOf)) expect(text).to.include(`"${name}"`)
    }
  })

  it('the configuration page states the defaults of the client object', () => {
    const { client } = settingsOf()
    const values: Readonly<Record<string, unknown>> = { ...client }
    for (const { names, cells } of rowsOf('## The `client` object')) {
      const documented = cells[0] ?? ''
      for (const name of names) {
        const value = values[name]
        if (documented === 'required') continue
        if (documented === 'that of the token endpoint') {
          expect(value, name).to.equal(client.token_endpoint_auth_method)
        } else if (documented === 'what the IdP publishes' || documented === 'false') {
          expect(value, name).to.equal(false)
        } else if (/^`[^`]+`$/.test(documented)) {
          const text = typeof value === 'string' ? value.replace('//host/', '//<host>/') : JSON.stringify(value)
          expect(`\`${text}\``, name).to.equal(documented)
        } else expect(value, `${name}: ${documented}`).to.equal(undefined)
      }
    }
  })

  it('the configuration page states the defaults of the custom and groups objects', () => {
    const { custom, groups } = settingsOf({ groups: {} })
    const inCustom = new Map(rowsOf('## The `custom` object').map(({ names, cells }) => [names[0], cells[0]]))
    expect(inCustom.get('scope')).to.equal(`\`${settingsOf().custom.scope.join(' ')}\``)
    expect(JSON.parse(inCode(inCustom.get('claims') ?? '')[0] ?? '')).to.deep.equal(custom.claims)
    expect(custom).to.deep.include({ authorizationParams: {}, preset: null })
    expect(inCustom.get('authorization_params')).to.equal('none')
    expect(inCustom.get('preset')).to.equal('none')
    const inGroups = new Map(rowsOf('## The `groups` object').map(({ names, cells }) => [names[0], cells[0]]))
    for (const name of ['revokeAdmin', 'sync', 'recursive'] as const) {
      expect(inGroups.get(name), name).to.equal(String(groups?.[name]))
    }
    expect(inGroups.get('scope')).to.equal(`\`${groups?.scope}\`, \`groups\``)
    expect(groups).to.include({ required: null, siteadmin: null })
    expect(inGroups.get('required')).to.equal('')
    expect(inGroups.get('siteadmin')).to.equal('')
  })

  it('the configuration page lists every authentication method and response mode', () => {
    const cells = new Map(rowsOf('## The `client` object').map(({ names, cells }) => [names[0], cells[1] ?? '']))
    expect(inCode(cells.get('token_endpoint_auth_method') ?? '')).to.have.members(AUTH_METHODS)
    expect(inCode(cells.get('response_mode') ?? '')).to.include.members(RESPONSE_MODES)
  })

  it('the configuration page lists every preset with its members', () => {
    const text = section(PAGE, '## The `custom` object')
    for (const { name, members } of PRESETS) {
      for (const word of [name, ...Object.keys(members)]) expect(text).to.include(`\`${word}\``)
    }
  })

  it('the configuration page names the replacement of each deprecated key', () => {
    const rows = tableRows(section(PAGE, '## Deprecated keys')).map((row) => row.flatMap(inCode))
    expect(rows.map(([old]) => old)).to.have.members(DEPRECATED_NAMES)
    for (const [old = '', place = ''] of rows) {
      const [warning] = moveDeprecatedKeys({ [old]: 'https://idp.example.org/' }).warnings
      expect(warning?.remedy, old).to.equal(`Move it to ${place}.`)
    }
  })

  it('the configuration page lists exactly the options of mesh-companion-check', () => {
    const printed: string[] = []
    const out = (text: string) => void printed.push(text)
    check(['--help'], { list: () => [], read: () => '', out, err: out, create: () => undefined })
    const documented = tableRows(section(PAGE, '## Check a configuration')).flatMap(([names = '']) => inCode(names))
    const options = [...printed.join('').matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, name]) => name)
    expect(documented.map((name) => name.split(' ')[0])).to.have.members(options)
  })

  it("the documentation page on MeshCentral lists exactly the plugin's settings", () => {
    const rows = tableRows(section(readDocument('plugin/docs/meshcentral.md'), '## Settings of the plugin'))
    expect(rows.map(([name = '']) => inCode(name)[0])).to.deep.equal([
      'sessionCheckMinutes',
      'loginTokenDays',
      'presets',
    ])
    expect(rows[0]?.[1]).to.equal(String(readCheckMinutes(undefined).minutes))
  })
})
