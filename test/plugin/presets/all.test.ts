import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { domainReader } from '../../../plugin/config/read.ts'
import type { PresetDefinition } from '../../../plugin/presets/preset.ts'
import { openPreset, PRESETS, standard } from '../../../plugin/presets/presets.ts'
import { routePaths } from '../../../plugin/routes/strategy.ts'
import { CLIENT, MINIMAL, serverWith, settingsOf } from '../config/single-domain.ts'
import { reasonOf, vendorAccess } from './vendor-fetch.ts'

/** Lists MeshCentral's own strategies. Two have the names of presets. */
const STRATEGIES = 'config/meshcentral/likely-typos.ts'

const PLUGIN = fileURLToPath(new URL('../../../plugin', import.meta.url))

/** A preset that another engineer might add in a separate file. */
const added: PresetDefinition<'okta', 'issuer'> = {
  name: 'okta',
  urls: { issuer: 'https://login.okta.example' },
  members: { org_name: { type: 'string', pattern: '^[a-z]+$', description: 'Write the name of the organisation.' } },
  groupScope: 'okta.groups.read',
  issued: (clientId) => clientId.startsWith('0oa'),
  check: ({ org_name }) =>
    org_name === undefined
      ? [{ steps: ['custom', 'org_name'], reason: 'is missing', remedy: 'Write the name of the organisation.' }]
      : [],
  issuer: ({ issuer }, { org_name }) => `${issuer}/${org_name}`,
  open: () => ({ ...standard, title: 'Okta' }),
}

describe('presets', () => {
  it('each member that a preset adds to custom is a string and has a unique name', () => {
    const names = ['scope', 'claims', 'preset', ...PRESETS.flatMap(({ members }) => Object.keys(members))]
    expect(new Set(names).size).to.equal(names.length)
    for (const { members } of PRESETS) {
      for (const { type, description } of Object.values(members)) {
        expect(type, description).to.equal('string')
        expect(description).to.match(/^Write .*\.$/)
      }
    }
  })

  // Shows: plugin 8.13.
  it("only presets/presets.ts and the preset's own file contain the name of a preset", () => {
    const files = readdirSync(PLUGIN, { recursive: true, encoding: 'utf8' }).filter(
      (name) => name.endsWith('.ts') && name !== STRATEGIES && !name.startsWith(join('doctor', 'live', 'providers')),
    )
    for (const { name } of PRESETS) {
      const naming = files.filter((file) =>
        new RegExp(`\\b${name}`, 'i').test(readFileSync(join(PLUGIN, file), 'utf8')),
      )
      expect(naming.toSorted()).to.have.members(['presets/presets.ts', `presets/${name}.ts`])
    }
  })

  // Shows: plugin 8.13.
  it('a new preset needs only a definition in the list PRESETS', () => {
    const read = domainReader([...PRESETS, added])
    const readOne = (oidc: object) => {
      const [reading] = read(serverWith(oidc), { presets: { okta: { issuer: 'https://okta.test' } } }).domains
      if (!reading) throw new Error('no domain was read')
      return reading
    }
    const problems = (custom: object) =>
      readOne({ client: CLIENT, custom }).problems.map(({ path, remedy }) => [path.split('.oidc.')[1], remedy])

    const settings = readOne({ client: CLIENT, custom: { preset: 'okta', ORG_name: 'radio' }, groups: {} }).settings
    expect(settings?.issuer.issuer).to.equal('https://okta.test/radio')
    expect(settings?.groups?.scope).to.equal('okta.groups.read')
    expect(settings?.custom).to.deep.include({ preset: 'okta', presetMembers: { org_name: 'radio' } })
    const detected = readOne({ client: { ...CLIENT, client_id: '0oa123' }, custom: { org_name: 'radio' } })
    expect(detected.settings?.custom.preset).to.equal('okta')
    expect(problems({ preset: 'okta' })).to.deep.equal([['custom.org_name', 'Write the name of the organisation.']])
    expect(problems({ preset: 'okta', org_name: 'R2' })).to.deep.equal([
      ['custom.org_name', 'Write the name of the organisation.'],
    ])
    expect(problems({ preset: 'octa' })).to.deep.equal([
      ['custom.preset', 'Write "google" or "azure" or "okta", or null for no preset.'],
    ])
    expect(routePaths('/', undefined, ['okta']).callbacks).to.include('/auth-oidc-okta-callback')
  })
})

const memberships = (claims: Record<string, unknown>, groups: object = {}) =>
  standard.memberships({ claims, accessToken: null }, settingsOf({ ...MINIMAL, groups }))

describe('generic provider without a preset', () => {
  it('uses the generic provider if no preset is configured', () => {
    expect(openPreset(null, {}, vendorAccess())).to.equal(standard)
  })

  it('without a preset, changes no claims, adds no scopes and names the claim groups', () => {
    const claims = { sub: '1', preferred_username: 'alice' }
    expect(standard.claims(claims)).to.equal(claims)
    expect(standard.scopes(settingsOf({ ...MINIMAL, groups: {} }))).to.deep.equal([])
    expect(standard.groupsClaim(settingsOf(MINIMAL))).to.equal('groups')
  })

  // Shows: plugin 6.9.
  it('without a preset, reads groups from the claim groups or the configured claim', async () => {
    expect(await memberships({ groups: ['a'], roles: ['b'] })).to.deep.equal([{ name: 'a', aliases: [] }])
    expect(await memberships({ groups: ['a'], roles: ['b'] }, { claim: 'roles' })).to.deep.equal([
      { name: 'b', aliases: [] },
    ])
    expect(await memberships({})).to.deep.equal([])
  })

  it('groups are unknown if the groups claim is only a reference in _claim_names', async () => {
    expect(await reasonOf(memberships({ _claim_names: { groups: 'src1' } }))).to.match(/refers to another place$/)
    expect(await memberships({ _claim_names: { address: 'src1' } })).to.deep.equal([])
    expect(await memberships({ _claim_names: 'groups' })).to.deep.equal([])
  })
})
