import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const PLUGIN = join(ROOT, 'dist/meshcentral-plugin/meshcompanion/meshcompanion.js')

describe('the plugin packed for MeshCentral', () => {
  const run = (...args: readonly string[]) => promisify(execFile)(process.execPath, args, { cwd: ROOT })

  before(async () => {
    await run('--import', 'tsx', 'plugin/meshcentral/package/pack.ts')
  })

  it('has its schema compiled, and no compiler with it', async () => {
    expect(await readFile(PLUGIN, 'utf8')).not.to.match(/allowUnionTypes|node_modules\/ajv\/dist\/core/)
  })

  it('loads without a word', async () => {
    expect(await run('-e', 'if (!require(process.argv[1]).meshcompanion) throw Error()', PLUGIN)).to.include({
      stdout: '',
      stderr: '',
    })
  })
})
