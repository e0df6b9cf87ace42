import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const { scripts } = JSON.parse(readFileSync(`${ROOT}/package.json`, 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>
}

/** Programs of our own, by the name of the script whose last step they are. */
const PROGRAMS = new Map(
  Object.entries(scripts).flatMap(([name, script]) => {
    const [, file] = /exec node --import tsx (\S+\.ts)$/.exec(script) ?? []
    return file === undefined || name === 'build' ? [] : [[name, file]]
  }),
)

/** Values that no command takes. */
const WRONG: Readonly<Record<string, readonly (readonly string[])[]>> = {
  start: [['--xxxxxxxxxxxxxxxx'], ['--help=x']],
  example: [['--port', 'abc'], ['nothing']],
  host: [['--port', '70000', '--config', 'x'], ['--port', '-1'], []],
  check: [['--xxxxxxxxxxxxxxxx'], ['x', '--explain-groups']],
  fixtures: [['--redirect-uri', 'nowhere']],
  sidecar: [['--xxxxxxxxxxxxxxxx'], [], ['--config', 'x', '--check', '--restore', 'y'], ['--config', 'x', '--live']],
  'test:stress': [
    ['--runs', 'x'],
    ['--busy', '-1'],
  ],
  chaos: [
    ['--seed', 'x'],
    ['--seconds', '0'],
    ['--several', '--fault', 'x'],
  ],
  fuzz: [
    ['--seed', 'x'],
    ['--minutes', 'x'],
    ['--target', 'x'],
    ['--properties', 'x'],
  ],
  mutate: [['nowhere']],
  bench: [['--only', 'nothing']],
  'pack:meshcentral': [['--url', 'nowhere']],
}

interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

function run(file: string, args: readonly string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['--import', 'tsx', file, ...args],
      { cwd: ROOT, timeout: 30_000, killSignal: 'SIGKILL' },
      (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    )
  })
}

function expectRefusal({ code, stdout, stderr }: Outcome, why: string): void {
  expect([code, stdout], why).to.deep.equal([64, ''])
  // No stack trace, no advice of Node's, no warning.
  expect(stderr, why).to.match(/^[^\n]+\n\nUsage: /)
  expect(stderr, why).not.to.match(/^ {4}at |To specify|Did you forget|does not take positional/m)
}

describe('Every command', () => {
  it('is found by its script', () => {
    const names = ['start', 'fixtures', 'host', 'example', 'sidecar', 'check', 'chaos', 'fuzz', 'mutate', 'bench']
    expect([...PROGRAMS.keys()]).to.include.members([...names, 'test:stress', 'pack:meshcentral'])
    expect([...PROGRAMS.keys()]).to.include.members(Object.keys(WRONG))
  })

  for (const [name, file] of PROGRAMS) {
    it(`says how it is called with --help, and which option was meant: ${name}`, async () => {
      const { code, stdout, stderr } = await run(file, ['--help'])
      expect([code, stderr]).to.deep.equal([0, ''])
      expect(stdout).to.match(/^Usage: /)

      const [, option = 'help'] = /--(?!help|check)([a-z-]{3,})/.exec(stdout.replace(/ -- /, ' ')) ?? []
      const mistyped = await run(file, [`--${option[0]}${option.slice(2)}`])
      expectRefusal(mistyped, option)
      expect(mistyped.stderr).to.match(new RegExp(`^Unknown option '--\\S+'\\. Did you mean --${option}\\?\n`))
    })
  }

  for (const [name, calls] of Object.entries(WRONG)) {
    it(`refuses values that it cannot use: ${name}`, async () => {
      for (const args of calls) expectRefusal(await run(PROGRAMS.get(name) ?? '', args), args.join(' '))
    })
  }
})
