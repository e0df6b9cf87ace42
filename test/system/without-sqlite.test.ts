import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { TYPESCRIPT } from '../support/typescript/options.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** State after `npm ci --ignore-scripts`: the package is there without its library. */
const WITHOUT_LIBRARY = `data:text/javascript,${encodeURIComponent(`
import Module from 'node:module'
const load = Module._load
Module._load = function (name, ...rest) {
  if (name === 'sqlite3') throw new Error('Could not locate the bindings file.')
  return load.call(this, name, ...rest)
}`)}`

describe('The demo without the SQLite library', () => {
  for (const [command, file, ...args] of [
    ['npm start', 'fixtures/start.ts', '--smoke'],
    ['npm run example', 'fixtures/example/main.ts', '--port', '0', '--accounts', ':memory:'],
    ['npm run host', 'fixtures/host/main.ts', '--config', 'config.json'],
  ] as const) {
    it(`${command} exits with 78 and names the remedy if SQLite's library is missing`, () => {
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        ['--import', WITHOUT_LIBRARY, ...TYPESCRIPT, file, ...args],
        { cwd: ROOT, encoding: 'utf8', timeout: 30_000 },
      )
      expect({ status, stdout }).to.deep.equal({ status: 78, stdout: '' })
      expect(stderr).to.match(/^SQLite's library is not there\..*"npm rebuild sqlite3"[^\n]*\n$/)
    })
  }
})
