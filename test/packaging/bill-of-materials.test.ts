import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { billOfMaterials } from '../../packaging/bill-of-materials.ts'
import { messageOf } from '../support/message-of.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PACKED = { name: 'packed', version: '1.2.3', description: 'A file for operators' }

describe('the bill of materials', () => {
  it('the bill of materials lists the shipped packages, with what each needs of them', async () => {
    const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8'))
    const version = (name: string) => packages[`node_modules/${name}`].version
    const folders = ['node_modules/node-apn', 'node_modules/node-forge', 'node_modules/pino']
    const bom = JSON.parse(await billOfMaterials(PACKED, folders, ROOT))
    const apn = `@parse/node-apn@${version('node-apn')}`
    const forge = `node-forge@${version('node-forge')}`
    const pino = `pino@${version('pino')}`
    expect(bom).to.include({ bomFormat: 'CycloneDX', specVersion: '1.5' })
    expect(bom.metadata.component).to.include({ ...PACKED, purl: 'pkg:npm/packed@1.2.3' })
    const components: readonly Record<string, unknown>[] = bom.components
    expect(components.map((component) => component['bom-ref'])).to.have.members([apn, forge, pino])
    for (const component of components) expect(component).to.have.property('licenses')
    const dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[] = bom.dependencies
    expect(Object.fromEntries(dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]))).to.deep.include({
      ...{ [apn]: [forge], [forge]: [], [pino]: [] },
    })
  })

  it('the bill of materials has the same bytes in two runs', async () => {
    const run = () => billOfMaterials(PACKED, ['node_modules/pino'], ROOT)
    expect(await run()).to.equal(await run())
  })

  it('the bill of materials is refused for a package that the lock does not list', async () => {
    const message = await messageOf(billOfMaterials(PACKED, ['node_modules/made-up'], ROOT))
    expect(message).to.equal('package-lock.json does not list node_modules/made-up. Run "npm install".')
  })
})
