import { join } from 'node:path'
import { expect } from 'chai'
import { build } from 'esbuild'
import { installPackage, type Project, packPackage } from '../support/installed-package.ts'

/** A whole app on the client: the bundle must contain nothing else. */
const APP = `
import { avatarHash, createCalls, createClient } from 'mesh-companion/client'
globalThis.app = { avatarHash, createCalls, createClient }
`
const MAX_BUNDLE_BYTES = 16_000

describe('The packed mesh-companion/client in an app without other packages', () => {
  let project: Project
  before(async function () {
    this.timeout(180_000)
    project = await installPackage(packPackage(), { alone: true })
  })
  after(() => project?.remove())

  // Shows: sidecar C15.5.
  it('mesh-companion/client loads even if no other package is installed', () => {
    expect(project.packages).to.deep.equal([])
    const load = `console.log(Object.keys(await import('mesh-companion/client')).join(' '))`
    const { status, stdout } = project.node('--input-type=module', '-e', load)
    expect(status).to.equal(0)
    expect(stdout).to.include('createClient')
    const server = project.node('--input-type=module', '-e', `await import('mesh-companion/sidecar')`)
    expect(server.stderr).to.include('ERR_MODULE_NOT_FOUND')
  })

  // Shows: sidecar C15.5.
  it('a browser bundle of mesh-companion/client contains only its own files', async () => {
    await project.write('app.js', APP)
    const { metafile, outputFiles } = await build({
      absWorkingDir: project.folder,
      entryPoints: ['app.js'],
      ...{ bundle: true, minify: true, write: false, metafile: true, format: 'esm', platform: 'browser' },
    })
    const foreignFiles = Object.keys(metafile.inputs).filter(
      (input) => input !== 'app.js' && !input.includes('node_modules/mesh-companion/dist/sidecar/client/'),
    )
    expect(foreignFiles).to.deep.equal([])
    expect(outputFiles[0]?.contents.length).to.be.below(MAX_BUNDLE_BYTES)
  })

  // Shows: sidecar C15.5.
  it('the types of mesh-companion/client compile if no other package is installed', async () => {
    await project.write('app.ts', APP.replace('globalThis.app =', 'export const app ='))
    const how = ['--strict', '--target', 'es2022', '--lib', 'es2022,dom', '--types', '', '--skipLibCheck', 'false']
    const { status, stdout } = project.compile(...how, '--module', 'esnext', '--moduleResolution', 'bundler', 'app.ts')
    expect({ status, stdout }).to.deep.equal({ status: 0, stdout: '' })
  })

  // Shows: sidecar C15.9.
  it('mesh-companion/openapi.json loads if no other package is installed', () => {
    const load = `
      import document from 'mesh-companion/openapi.json' with { type: 'json' }
      console.log(document.openapi, Object.keys(document.webhooks).length)`
    expect(project.node('--no-warnings', '--input-type=module', '-e', load).stdout).to.equal('3.1.1 3\n')
    expect(project.shipped).to.include(join('dist', 'schemas', 'openapi.json').replaceAll('\\', '/'))
  })
})
