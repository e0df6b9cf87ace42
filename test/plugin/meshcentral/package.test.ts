import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { unzipSync } from 'fflate'
import { TYPESCRIPT } from '../../support/typescript/options.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const PACKAGE = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string }
const PLUGIN = join(ROOT, 'dist/meshcentral-plugin/meshcompanion/meshcompanion.js')

describe('plugin packed for MeshCentral', () => {
  const run = (...args: readonly string[]) => promisify(execFile)(process.execPath, args, { cwd: ROOT })

  before(async () => {
    await run(...TYPESCRIPT, 'fixtures/meshcentral-package/pack.ts')
  })

  it('the packed plugin contains its compiled schema, but no schema compiler', async () => {
    expect(await readFile(PLUGIN, 'utf8')).not.to.match(/allowUnionTypes|node_modules\/ajv\/dist\/core/)
  })

  it('the packed plugin lists each bundled package with version and license', async () => {
    // esbuild writes the name of each file above its code.
    const files = (await readFile(PLUGIN, 'utf8')).matchAll(/^ *\/\/ (\S*node_modules\/(?:@[^/\s]+\/)?[^/\s]+)\//gm)
    const folders = [...new Set([...files].map(([, folder = '']) => folder))]
    const packages = await Promise.all(
      folders.map(async (folder) => {
        const text = await readFile(join(ROOT, folder, 'package.json'), 'utf8')
        return JSON.parse(text) as { readonly name: string; readonly version: string; readonly license: string }
      }),
    )
    const text = await readFile(join(PLUGIN, '../THIRD-PARTY-LICENSES'), 'utf8')
    const [, ...entries] = text.split(/^-{80}\n/m)
    const heads = entries.map((entry) => entry.split('\n').slice(0, 2).join(', '))
    expect(packages.length).to.be.above(10)
    expect(heads).to.have.members(
      packages.map((bundled) => `${bundled.name} ${bundled.version}, License: ${bundled.license}`),
    )
    for (const entry of entries) expect(entry, entry.slice(0, 60)).to.match(/Copyright[\s\S]{400,}/i)
    const zip = unzipSync(await readFile(join(PLUGIN, '../../meshcompanion.zip')))
    expect(Buffer.from(zip['meshcompanion/THIRD-PARTY-LICENSES'] ?? []).toString()).to.equal(text)
  })

  it('the packed plugin has a bill of materials with exactly the bundled packages', async () => {
    const text = await readFile(join(PLUGIN, '../sbom.cdx.json'), 'utf8')
    const { metadata, components } = JSON.parse(text)
    expect(metadata.component).to.include({ name: 'meshcompanion', purl: `pkg:npm/meshcompanion@${PACKAGE.version}` })
    const notices = await readFile(join(PLUGIN, '../THIRD-PARTY-LICENSES'), 'utf8')
    const titles = [...notices.matchAll(/^-{80}\n(.*)$/gm)].map(([, title = '']) => title.replace(' ', '@'))
    expect(components.map((component: { readonly 'bom-ref': string }) => component['bom-ref'])).to.have.members(titles)
    const zip = unzipSync(await readFile(join(PLUGIN, '../../meshcompanion.zip')))
    expect(Buffer.from(zip['meshcompanion/sbom.cdx.json'] ?? []).toString()).to.equal(text)
  })

  it('loading the packed plugin prints nothing', async () => {
    expect(await run('-e', 'if (!require(process.argv[1]).meshcompanion) throw Error()', PLUGIN)).to.include({
      stdout: '',
      stderr: '',
    })
  })
})
