import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

describe('the types of the client', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'client-types-'))
  })
  after(() => rmSync(folder, { recursive: true }))

  it('compile with the example for developers of apps, without the types of Node', function () {
    this.timeout(60_000)
    const page = readFileSync(join(ROOT, 'sidecar/docs/app-developers.md'), 'utf8')
    const [, example = ''] = /```ts\n([^`]*?'mesh-companion\/client'.*?)```/s.exec(page) ?? []
    expect(example).to.include('createClient')
    writeFileSync(join(folder, 'app.ts'), example)
    const compilerOptions = {
      ...{ target: 'es2022', lib: ['es2022', 'dom'], module: 'esnext', moduleResolution: 'bundler', types: [] },
      ...{ strict: true, noEmit: true, allowImportingTsExtensions: true },
      paths: { 'mesh-companion/client': [join(ROOT, 'sidecar/client/index.ts')] },
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['app.ts'] }))
    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
    const { stdout, status } = spawnSync(process.execPath, [compiler, '-p', folder], { encoding: 'utf8' })
    expect(stdout).to.equal('')
    expect(status).to.equal(0)
  })
})
