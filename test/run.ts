import { availableParallelism } from 'node:os'

/**
 * `npm test`: every test that needs nothing beyond `npm ci`. Further arguments go to mocha, such as `--grep`.
 *
 * The folders with the longest files come first. Otherwise one of them would run alone at the end. Mocha runs in this
 * very process: its own command starts another one, which a SIGTERM to the first would leave behind.
 *
 * Two files run at a time for each processor, because whole processes spend half of their time on waiting for events.
 */
const FILES = ['test/{system,several}/**/*.test.ts', 'test/!(system|several)/**/*.test.ts', 'test/*.test.ts']
/** A variable, because mocha has no types for it. */
const MOCHA: string = 'mocha/lib/cli/cli.js'

const { main } = (await import(MOCHA)) as { main(argv: readonly string[]): void }
main(['--jobs', String(2 * availableParallelism()), ...FILES, ...process.argv.slice(2)])
