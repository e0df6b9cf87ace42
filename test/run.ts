import { availableParallelism } from 'node:os'

/**
 * `npm test`: every test that needs nothing beyond `npm ci`. Further arguments go to mocha, such as `--grep`.
 *
 * The folders with the longest files come first. Otherwise one of them would run alone at the end. Mocha runs in this
 * very process: its own command starts another one, which a SIGTERM to the first would leave behind.
 */
const FILES = ['test/{system,several}/**/*.test.ts', 'test/!(system|several)/**/*.test.ts', 'test/*.test.ts']
/** A variable, because mocha has no types for it. */
const MOCHA: string = 'mocha/lib/cli/cli.js'

const { main } = (await import(MOCHA)) as { main(argv: readonly string[]): void }
main(['--jobs', String(availableParallelism()), ...FILES, ...process.argv.slice(2)])
