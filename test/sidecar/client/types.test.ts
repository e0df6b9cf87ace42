import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

describe('The TypeScript types of the client', () => {
  const folder = temporaryFolder()

  // Shows: sidecar C15.5.
  it("the documented examples compile with the client's types, without Node's types", function () {
    this.timeout(60_000)
    const page = readFileSync(join(ROOT, 'sidecar/docs/app-developers.md'), 'utf8')
    const examples = [...page.matchAll(/```ts\n(.*?)```/gs)].map(([, text = '']) => text)
    const app = examples.filter((text) => text.includes('createClient'))
    const requests = examples.filter((text) => !app.includes(text)).join('\n')
    expect(app).to.have.length(1)
    for (const name of ['register', 'sync', 'avatars', 'unregister', 'webPush'])
      expect(requests).to.include(`calls.${name}(`)
    writeFileSync(folder.path('app.ts'), app.join(''))
    writeFileSync(folder.path('requests.ts'), requests)
    const compilerOptions = {
      ...{ target: 'es2022', lib: ['es2022', 'dom'], module: 'esnext', moduleResolution: 'bundler', types: [] },
      ...{ strict: true, noEmit: true, allowImportingTsExtensions: true },
      paths: { 'mesh-companion/client': [join(ROOT, 'sidecar/client/index.ts')] },
    }
    writeFileSync(folder.path('tsconfig.json'), JSON.stringify({ compilerOptions, files: ['app.ts', 'requests.ts'] }))
    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
    const { stdout, status } = spawnSync(process.execPath, [compiler, '-p', folder.path()], { encoding: 'utf8' })
    expect(stdout).to.equal('')
    expect(status).to.equal(0)
  })
})
