import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv, type ValidateFunction } from 'ajv'
import formats from 'ajv-formats'
import { expect } from 'chai'
import { oidcSchema } from '../../plugin/config/rules/schema/schema.ts'
import { readDomains } from '../../plugin/mount/read-domains.ts'
import { PRESETS } from '../../plugin/presets/presets.ts'
import { SETTINGS_SCHEMA } from '../../sidecar/config/schema.ts'
import { settingsFrom } from '../../sidecar/index.ts'
import { codeBlocks, readDocuments } from '../support/documents.ts'
import { installPackage, type Project, packPackage } from '../support/installed-package.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const NAMES = ['oidc', 'server', 'sidecar'] as const

interface Schema {
  readonly title?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly definitions?: Readonly<Record<string, Schema>>
  readonly $ref?: string
  readonly $schema?: string
  readonly [keyword: string]: unknown
}

/** Returns the paths of members without a description for editors. */
function unexplained({ properties = {}, definitions = {} }: Schema): readonly string[] {
  return Object.entries({ ...properties, ...definitions }).flatMap(([name, member]) => [
    ...(member.description || member.$ref ? [] : [name]),
    ...unexplained(member).map((inner) => `${name}.${inner}`),
  ])
}

/** A schema as the code has it: without what is only for editors, and with JSON's values. */
function bare({ $schema, title, properties, ...rest }: Schema): Schema {
  return {
    ...rest,
    properties: Object.fromEntries(Object.entries(properties ?? {}).filter(([name]) => name !== '$schema')),
  }
}
const inJson = (schema: unknown): unknown =>
  JSON.parse(
    JSON.stringify(schema, (key, value) => (key === 'format' && value === 'address-range' ? undefined : value)),
  )

describe('The JSON Schemas that the package ships', () => {
  let project: Project
  let schemas: Readonly<Record<(typeof NAMES)[number], Schema>>
  let fits: Readonly<Record<(typeof NAMES)[number], ValidateFunction>>
  before(async () => {
    project = await installPackage(packPackage(), { peers: [] })
    const load = `console.log(JSON.stringify([${NAMES.map((name) => `require('mesh-companion/schemas/${name}.json')`)}]))`
    const [oidc, server, sidecar] = JSON.parse(project.node('--input-type=commonjs', '-e', load).stdout)
    schemas = { oidc, server, sidecar }
    const compile = (schema: Schema) => {
      // Strict: an unknown keyword or format is a fault.
      const ajv = new Ajv({ allErrors: true, allowUnionTypes: true, strict: true, strictRequired: false })
      formats.default(ajv, ['uri'])
      return ajv.compile(schema)
    }
    fits = { oidc: compile(oidc), server: compile(server), sidecar: compile(sidecar) }
  }).timeout(120_000)
  after(() => project?.remove())

  it('shipped schemas equal the ones that the code validates with', () => {
    expect(bare(schemas.oidc)).to.deep.equal(inJson(oidcSchema(PRESETS)))
    expect(bare(schemas.server.definitions?.oidc ?? {})).to.deep.equal(bare(schemas.oidc))
    expect(bare(schemas.sidecar)).to.deep.equal(inJson(SETTINGS_SCHEMA))
  })

  it('shipped schemas have a description of every member, which editors show', () => {
    for (const name of NAMES) {
      expect(schemas[name].title, name).to.match(/^mesh-companion: /)
      expect(unexplained(schemas[name]), name).to.deep.equal([])
    }
  })

  it("shipped schemas accept every documented configuration and the operators' sample", async () => {
    const texts = readDocuments().flatMap(({ text }) => codeBlocks(text, 'json'))
    const blocks = texts.flatMap((block) => (block.trimStart().startsWith('{') ? [JSON.parse(block)] : []))
    const sample = JSON.parse(await readFile(join(ROOT, 'sidecar/deploy/sidecar.json'), 'utf8'))
    const whole = { server: blocks.filter(({ domains }) => domains), sidecar: blocks.filter(({ aprsis }) => aprsis) }
    expect(whole.server).to.not.be.empty
    expect(whole.sidecar).to.not.be.empty
    for (const config of whole.server)
      expect({ fits: fits.server(config), errors: fits.server.errors }).to.deep.equal({ fits: true, errors: null })
    for (const config of [...whole.sidecar, sample]) {
      expect({ fits: fits.sidecar(config), errors: fits.sidecar.errors }).to.deep.equal({ fits: true, errors: null })
    }
  })

  it('a configuration can name its shipped schema in $schema', async () => {
    const $schema = './node_modules/mesh-companion/dist/schemas/server.json'
    const client = { client_id: 'mesh', client_secret: 'secret' }
    const server = (oidc: object) => ({
      $schema,
      settings: { cert: 'mesh.example' },
      domains: { '': { authStrategies: { oidc: { $schema, issuer: 'https://idp.example', client, ...oidc } } } },
    })
    const sidecar = (more: object) => ({ $schema, aprsis: { callsign: 'N0CALL-10' }, ...more })
    const isRight = (config: object) => readDomains(config).domains.every(({ problems }) => problems.length === 0)
    for (const [oidc, right] of [
      [{}, true],
      [{ issuer: 5 }, false],
      [{ client: { ...client, clientId: 'mesh' } }, false],
      [{ groups: { sync: {} } }, false],
      [{ custom: { preset: 'gogle' } }, false],
      [{ newAccounts: 'yes' }, false],
    ] as const) {
      const config = server(oidc)
      expect({ schema: fits.server(config), reader: isRight(config) }, JSON.stringify(oidc)).to.deep.equal({
        schema: right,
        reader: right,
      })
    }
    await project.write('config.json', JSON.stringify(server({})))
    expect(project.bin('mesh-companion-check', 'config.json')).to.deep.include({ status: 0, stderr: '' })

    for (const [more, right] of [
      [{}, true],
      [{ listen: { port: 70_000 } }, false],
      [{ historry: {} }, false],
      [{ log: { level: 'loud' } }, false],
      [{ aprsis: {} }, false],
    ] as const) {
      const config = sidecar(more)
      const read = settingsFrom(JSON.stringify(config), '.')
      const isTaken = 'settings' in read && read.warnings.length === 0
      expect({ schema: fits.sidecar(config), reader: isTaken }, JSON.stringify(more)).to.deep.equal({
        schema: right,
        reader: right,
      })
    }
  }).timeout(60_000)
})
