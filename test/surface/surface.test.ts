import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { publicSurface, RECORD } from './surface.ts'

describe('The public API surface', () => {
  let surface: Readonly<Record<string, string>>
  before(async function () {
    this.timeout(120_000)
    surface = await publicSurface()
  })

  for (const name of ['exports.txt', 'configuration.json', 'codes.json', 'events.json', 'metrics.json', 'openapi.json'])
    it(`the public API equals test/surface/recorded/${name}`, async () => {
      const recorded = await readFile(join(RECORD, name), 'utf8')
      const hint =
        'The public surface has changed. If that is right, run "npm run record:surface", and say so in CHANGELOG.md.'
      expect(surface[name]?.split('\n'), hint).to.deep.equal(recorded.split('\n'))
    })

  it('test/surface/recorded contains no files except those of the public API', async () => {
    expect(await readdir(RECORD)).to.have.members(Object.keys(surface))
  })

  it('exports.txt records each export with the types that it uses, without comments', () => {
    const { 'exports.txt': exports = '' } = surface
    expect(exports)
      .to.include('./plugin: ')
      .and.include('export interface MountOptions')
      .and.include('registerOidc(app: ')
    expect(exports).to.match(/^\/\/ sidecar\/config\/settings\.d\.ts: Settings$/m)
    expect(exports).not.to.match(/^\s*(\/\*\*|\*)/m)
  })
})
