import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Packs the plugin once before all files of a run, as `npm run pack:meshcentral` does. */
export function mochaGlobalSetup(): void {
  execFileSync(process.execPath, ['--import', 'tsx', 'fixtures/meshcentral-package/pack.ts'], {
    cwd: fileURLToPath(new URL('../../..', import.meta.url)),
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}
