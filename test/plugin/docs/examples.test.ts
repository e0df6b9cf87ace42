import { expect } from 'chai'
import { checkMeshCentralServer } from '../../../plugin/config/meshcentral/check-server.ts'
import { oidcSchema } from '../../../plugin/config/rules/schema/schema.ts'
import { readDomains } from '../../../plugin/mount/read-domains.ts'
import { PRESETS } from '../../../plugin/presets/presets.ts'
import { makeKey } from '../../support/client-keys.ts'
import { codeBlocks, readDocuments } from '../../support/documents.ts'

const EXAMPLES = readDocuments()
  .filter(({ path }) => path.startsWith('plugin/'))
  .flatMap(({ path, text }) => codeBlocks(text, 'json').map((code) => ({ path, code })))
const MEMBERS = Object.keys(oidcSchema(PRESETS).properties ?? {})
const KEYS = JSON.stringify({ keys: ['sig', 'enc'].map((use) => makeKey('P-256', { kid: use, use }).private) })

/** Returns the configuration that contains this part, or undefined if the part belongs to no configuration. */
function completeConfig(code: string): object | undefined {
  const text = code.trim().replaceAll('"…"', '"of the tests"')
  const value = JSON.parse(text.startsWith('"') ? `{ ${text} }` : text)
  if (Array.isArray(value)) return undefined
  if ('domains' in value) return code.includes('"authStrategies"') ? value : undefined
  const settings = { cert: 'mesh.example.org', ...value.settings }
  const oidc = { issuer: 'https://idp.example.org', client: { client_id: 'mesh', client_secret: 'of the tests' } }
  const configWith = (domain: object) => ({ settings, domains: { '': domain } })
  const names = Object.keys(value)
  if (names.join() === 'settings') return configWith({ authStrategies: { oidc } })
  if (names.join() === 'oidcCredentials') return configWith({ ...value, authStrategies: { oidc } })
  expect(MEMBERS).to.include.members(names)
  return configWith({ authStrategies: { oidc: { ...oidc, ...value } } })
}

describe("example configurations in the plugin's documents", () => {
  it("mesh-companion-check passes the documents' examples without errors or warnings", () => {
    const configurations = EXAMPLES.flatMap(({ path, code }) => {
      const config = completeConfig(code)
      return config ? [{ path, code, config }] : []
    })
    expect(configurations.length).to.be.above(20)
    for (const { path, code, config } of configurations) {
      const { domains, problems } = readDomains(config, { readFile: () => KEYS, now: Date.now() })
      const findings = [...problems, ...domains.flatMap((domain) => [...domain.problems, ...domain.warnings])]
      expect(findings, `${path}: ${code}`).to.deep.equal([])
      expect(domains.length, path).to.equal(1)
    }
  })

  it("mesh-companion-check --meshcentral passes the documents' MeshCentral examples", () => {
    const isWhole = (config: object | undefined): config is Readonly<Record<string, object>> =>
      config !== undefined && 'settings' in config && 'plugins' in (config.settings as object)
    const configurations = EXAMPLES.flatMap(({ path, code }) => {
      const config = completeConfig(code)
      return isWhole(config) ? [{ path, config }] : []
    })
    const options = { meshCentral: true, unknownKeys: 'warn', inferPresets: true, hasRights: true } as const
    for (const { path, config } of configurations) {
      const server = checkMeshCentralServer(config)
      const { domains } = readDomains(config, { ...options, readFile: () => KEYS, basePathOf: () => '/' })
      const findings = [...server.problems, ...domains.flatMap((domain) => [...domain.problems, ...domain.warnings])]
      expect(findings, path).to.deep.equal([])
      // The page on MeshCentral covers what the examples leave out.
      for (const { code } of server.warnings) expect(code, path).to.be.oneOf(['not_recorded', 'session_key_missing'])
    }
    const pages = new Set(configurations.map(({ path }) => path))
    const providers = readDocuments().filter(({ path }) => /^plugin\/docs\/providers\/(?!README)/.test(path))
    expect(providers.length).to.be.above(10)
    expect(providers.map(({ path }) => path).filter((path) => !pages.has(path))).to.deep.equal([])
  })
})
