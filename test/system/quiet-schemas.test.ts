import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { TYPESCRIPT } from '../support/typescript/options.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const COMPILE_ALL = `
  import { oidcSchema } from './plugin/config/rules/schema/schema.ts'
  import { schemaCheck } from './plugin/config/rules/schema/schema-check.ts'
  import { PRESETS } from './plugin/presets/presets.ts'
  import { createBodyChecks } from './sidecar/api/requests/schemas.ts'
  import { readSettings } from './sidecar/config/reading/read.ts'

  schemaCheck(oidcSchema(PRESETS))
  schemaCheck(oidcSchema([]))
  readSettings({ text: '{}', folder: '.', env: {}, readFile: () => '', passcodeOf: () => 0 })
  const { register } = createBodyChecks({ allowPrivate: false })
  for (const platform of ['android', 'webpush']) try { register({ platform }) } catch {}
`

describe('The JSON Schemas of plugin and sidecar', () => {
  it('all schemas are loaded and compiled without console output', async () => {
    const args = [...TYPESCRIPT, '--input-type=module', '-e', COMPILE_ALL]
    const output = await promisify(execFile)(process.execPath, args, { cwd: ROOT })
    expect(output).to.include({ stdout: '', stderr: '' })
  })
})
