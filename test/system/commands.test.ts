import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { TYPESCRIPT } from '../support/typescript/options.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const { scripts } = JSON.parse(readFileSync(`${ROOT}/package.json`, 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>
}

/** Scripts that take no options of ours. */
const WITHOUT_OPTIONS = ['build', 'lint', 'prepack', 'test']
/** Programs of our own, by the name of the script that runs them. */
const PROGRAMS = new Map(
  Object.entries(scripts).flatMap(([name, script]) => {
    // Options of Node come in pairs: `--require FILE`, `--import FILE`.
    const [, file] = /^node (?:--(?:require|import) \S+ )+(\S+\.ts)$/.exec(script) ?? []
    return file === undefined || WITHOUT_OPTIONS.includes(name) ? [] : [[name, file]]
  }),
)
/** Shells that npm may use: bash replaces itself with the program, dash does not. */
const SHELLS = ['sh', '/usr/bin/dash', '/bin/bash'].filter((shell) => shell === 'sh' || existsSync(shell))

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
      [...TYPESCRIPT, file, ...args],
      { cwd: ROOT, timeout: 30_000, killSignal: 'SIGKILL' },
      (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    )
  })
}

function expectRefusal({ code, stdout, stderr }: Outcome, why: string): void {
  expect({ code, stdout }, why).to.deep.equal({ code: 64, stdout: '' })
  // No stack trace, no advice of Node's, no warning.
  expect(stderr, why).to.match(/^[^\n]+\n\nUsage: /)
  expect(stderr, why).not.to.match(/^ {4}at |To specify|Did you forget|does not take positional/m)
}

describe('The commands of npm run', () => {
  it('each npm script that takes options starts an existing program', () => {
    const names = ['start', 'fixtures', 'host', 'example', 'sidecar', 'check', 'chaos', 'fuzz', 'mutate', 'bench']
    expect([...PROGRAMS.keys()]).to.include.members([...names, 'test:stress', 'pack:meshcentral'])
    expect([...PROGRAMS.keys()]).to.include.members(Object.keys(WRONG))
  })

  for (const [name, file] of PROGRAMS) {
    it(`npm run ${name} explains its usage, and suggests mistyped options`, async () => {
      const { code, stdout, stderr } = await run(file, ['--help'])
      expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
      expect(stdout).to.match(/^Usage: /)

      const [, option = 'help'] = /--(?!help|check)([a-z-]{4,})/.exec(stdout.replace(/ -- /, ' ')) ?? []
      const mistyped = await run(file, [`--${option[0]}${option.slice(2)}`])
      expectRefusal(mistyped, option)
      expect(mistyped.stderr).to.match(new RegExp(`^Unknown option '--\\S+'\\. Did you mean --${option}\\?\n`))
    })
  }

  for (const [name, calls] of Object.entries(WRONG)) {
    it(`npm run ${name} refuses invalid values with its usage`, async () => {
      for (const args of calls) expectRefusal(await run(PROGRAMS.get(name) ?? '', args), args.join(' '))
    })
  }
})

describe('A SIGTERM to npm', () => {
  for (const shell of SHELLS)
    it(`SIGTERM to npm stops the script's program if the shell is ${shell}`, async function () {
      if (process.platform === 'win32') this.skip()
      const args = ['run', '--script-shell', shell, 'fixtures']
      const npm = spawn('npm', args, { cwd: ROOT, stdio: 'pipe', detached: true })
      try {
        let text = ''
        const started = new Promise<void>((resolve) => {
          npm.stdout.on('data', (chunk: Buffer) => {
            text += chunk
            if (text.includes('Ctrl-C stops all of it.')) resolve()
          })
        })
        // The program holds the other ends of these pipes. They close only once it has ended too.
        const closed = once(npm, 'close')
        await Promise.race([started, closed.then(() => Promise.reject(new Error(`npm ended early:\n${text}`)))])
        npm.kill('SIGTERM')
        await closed
      } finally {
        killGroup(npm.pid)
      }
    }).timeout(60_000)

  it("npm returns the program's exit code after SIGTERM if SHELL is /bin/bash", async function () {
    if (process.platform === 'win32') this.skip()
    const env = { ...process.env, SHELL: '/bin/bash' }
    const npm = spawn('npm', ['run', 'fixtures'], { cwd: ROOT, stdio: 'pipe', detached: true, env })
    try {
      const started = new Promise<void>((resolve) => {
        npm.stdout.on('data', (chunk: Buffer) => {
          if (String(chunk).includes('Ctrl-C stops all of it.')) resolve()
        })
      })
      await Promise.race([started, once(npm, 'exit')])
      npm.kill('SIGTERM')
      const [code] = await once(npm, 'exit')
      expect(code).to.equal(0)
    } finally {
      killGroup(npm.pid)
    }
  }).timeout(60_000)
})

/** Kills the remaining processes of a process group. */
function killGroup(leader: number | undefined): void {
  try {
    if (leader !== undefined) process.kill(-leader, 'SIGKILL')
  } catch {
    // All processes of the group have ended, as they should.
  }
}
