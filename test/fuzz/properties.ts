import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Tries the costly properties `times` as often as `npm test` does: those of the test files that use `propertyRuns`,
 * directly or through a contract suite. Returns the exit code. A property that breaks is printed with the seed and path
 * that repeat it.
 */
export function tryProperties(times: number): number {
  const sources = readdirSync('test/sidecar', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => ({ path: join('test/sidecar', name), text: readFileSync(join('test/sidecar', name), 'utf8') }))
  const suites = sources.filter(({ path, text }) => path.endsWith('.contract.ts') && text.includes('propertyRuns('))
  const asks = [/propertyRuns\(/, ...suites.map(({ path }) => new RegExp(`/${path.split(/[\\/]/).at(-1)}'`))]
  const files = sources.filter(({ path, text }) => path.endsWith('.test.ts') && asks.some((ask) => ask.test(text)))
  const mocha = ['--import', 'tsx', 'node_modules/mocha/bin/mocha.js', '--no-config', '--timeout', '0']
  const env = { ...process.env, PROPERTY_TIMES: String(times) }
  const { status } = spawnSync(process.execPath, [...mocha, ...files.map(({ path }) => path)], {
    env,
    stdio: 'inherit',
  })
  return status ?? 1
}
