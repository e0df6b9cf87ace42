import { copyFile } from 'node:fs/promises'
import { expect } from 'chai'
import { readEnvironment } from '../../../sidecar/config/reading/environment.ts'
import { RESERVED_CALLSIGNS } from '../../../sidecar/config/reserved-callsigns.ts'
import { type MemberSchema, SETTINGS_SCHEMA } from '../../../sidecar/config/schema.ts'
import { settingsFrom } from '../../../sidecar/index.ts'
import { LOG_LEVELS } from '../../../sidecar/log.ts'
import { writeCredentials } from '../../support/credential-files.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { codesIn, EXAMPLES, rowsIn, textOf } from './page.ts'

const PAGE = textOf('configuration.md')
const ROWS = rowsIn(PAGE, 'member').map(([member, variable, fallback = '']) => ({
  member: codesIn(member)[0] ?? '',
  variable: codesIn(variable)[0] ?? '',
  fallback,
}))

/** Members that are no tables, by their paths. */
function leaves({ properties }: MemberSchema, path = ''): readonly (readonly [string, MemberSchema])[] {
  return Object.entries(properties ?? {}).flatMap(([name, member]) =>
    member.properties ? leaves(member, `${path}${name}.`) : [[`${path}${name}`, member] as const],
  )
}

const LEAVES = new Map(leaves(SETTINGS_SCHEMA))

describe('The documentation page on the configuration', () => {
  // Shows: sidecar C12.11.
  it('the configuration page lists each setting once, and no unknown setting', () => {
    expect(ROWS.map(({ member }) => member).toSorted()).to.deep.equal([...LEAVES.keys()].toSorted())
  })

  // Shows: sidecar C12.11.
  it('the configuration page names the environment variable of each setting', () => {
    for (const { member, variable } of ROWS) {
      const { overrides } = readEnvironment({ [variable]: 'x' }, SETTINGS_SCHEMA)
      expect(
        overrides.map(({ steps }) => steps.join('.')),
        variable,
      ).to.deep.equal([member])
    }
  })

  // Shows: sidecar 3.7, 14.1, 15.4, 21.1, 21.7, 21.9, 21.10, 21.11, C1.1, C1.27, C12.11, F1.21.
  it("the configuration page shows each setting's default, or that it is required", () => {
    const reading = settingsFrom('{ "aprsis": { "callsign": "N0CALL-10" } }', '/etc/sidecar')
    const settings: unknown = 'settings' in reading ? reading.settings : undefined
    const shown = (member: string) => {
      if (!('default' in (LEAVES.get(member) ?? {}))) return 'required'
      const value = member.split('.').reduce((table, step) => Object(table)[step], settings)
      if (Array.isArray(value)) return value.length > 0 ? 'services, bulletins' : 'none'
      return `\`${String(value).replace('/etc/sidecar/', '')}\``
    }
    for (const { member, fallback } of ROWS) expect(fallback, member).to.equal(shown(member))
  })

  it('the configuration page lists the reserved callsigns and the log levels', () => {
    const [, list = ''] = /Reserved unless you give a list: ([\s\S]*?)\n\n/.exec(PAGE) ?? []
    expect(codesIn(list)).to.have.members([...RESERVED_CALLSIGNS])
    const [level] = rowsIn(PAGE, 'member').filter(([member]) => member === '`log.level`')
    expect(codesIn(level?.[3])).to.deep.equal([...LOG_LEVELS])
  })
})

describe('The example configurations in the documents', () => {
  const folder = temporaryFolder()
  beforeEach(async () => {
    await writeCredentials(folder.path(), {
      ...{ certFile: 'fullchain.pem', keyFile: 'privkey.pem' },
      ...{ serviceAccountFile: 'firebase.json', apnsKeyFile: 'AuthKey_ABC1234567.p8' },
    })
    await copyFile(folder.path('fullchain.pem'), folder.path('db-ca.pem'))
  })

  // Shows: sidecar C12.10, C12.11.
  it("the sidecar accepts the documents' example configurations without warnings", () => {
    const shown = EXAMPLES.filter(({ name }) => name === '')
    expect(shown.length).to.be.above(4)
    for (const { page, value } of shown) {
      const reading = settingsFrom(JSON.stringify({ aprsis: { callsign: 'N0CALL-10' }, ...value }), folder.path())
      expect('problems' in reading ? reading.problems : [], page).to.deep.equal([])
      expect(reading.warnings, page).to.deep.equal([])
    }
  })
})
