import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { readCommandLine } from '../fixtures/command-line.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const MOCHA = ['node_modules/mocha/bin/mocha.js']

const USAGE = `Usage: npm run test:stress -- [--runs N] [--busy N] [--seed TEXT]

Runs npm test several times. Each run has its own random order of the test
files, and shares the machine with processes that keep it busy. A test that
fails here depends on time or on another test.

  --runs N     number of runs; default: 3
  --busy N     number of busy processes; default: two for each processor
  --seed TEXT  seed of the order of the files; default: the time`

const { values, refuse } = readCommandLine(USAGE, {
  runs: { type: 'string', default: '3' },
  busy: { type: 'string', default: String(2 * availableParallelism()) },
  seed: { type: 'string', default: String(Date.now()) },
})
for (const name of ['runs', 'busy'] as const) if (!/^\d+$/.test(values[name])) refuse(`--${name} must be a number.`)

const { ignore } = JSON.parse(readFileSync(`${ROOT}/.mocharc.json`, 'utf8')) as { readonly ignore: readonly string[] }
const elsewhere = ignore.map((pattern) => pattern.replace('**', ''))
const files = readdirSync(`${ROOT}/test`, { recursive: true, encoding: 'utf8' })
  .map((name) => `test/${name}`)
  .filter((name) => name.endsWith('.test.ts') && !elsewhere.some((folder) => name.startsWith(folder)))

/** Returns the files in the order of this seed. */
function shuffled(seed: string): readonly string[] {
  const place = (file: string) => createHash('sha256').update(`${seed} ${file}`).digest('hex')
  return files.toSorted((a, b) => (place(a) < place(b) ? -1 : 1))
}

async function run(seed: string): Promise<boolean> {
  const began = performance.now()
  const options = ['--reporter', 'dot', '--jobs', String(availableParallelism())]
  const tests = spawn(process.execPath, [...MOCHA, ...options, ...shuffled(seed)], { cwd: ROOT })
  const output: Buffer[] = []
  tests.stdout.on('data', (chunk: Buffer) => output.push(chunk))
  tests.stderr.on('data', (chunk: Buffer) => output.push(chunk))
  const [code] = (await once(tests, 'close')) as [number | null]
  const text = Buffer.concat(output).toString()
  const count = /\d+ passing/.exec(text)?.[0] ?? 'nothing counted'
  console.log(`seed ${seed}: ${count}, exit ${code}, ${Math.round((performance.now() - began) / 1000)} s`)
  // Mocha prints the failures after the counts.
  if (code !== 0) console.log(text.slice(text.search(/^ *\d+ passing/m)))
  return code === 0
}

const busy: ChildProcess[] = Array.from({ length: Number(values.busy) }, () =>
  spawn(process.execPath, ['--eval', 'for (;;);'], { stdio: 'ignore' }),
)
const rest = () => {
  for (const child of busy) child.kill('SIGKILL')
}
process.once('exit', rest)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

let failures = 0
for (let turn = 0; turn < Number(values.runs); turn++) if (!(await run(`${values.seed}-${turn}`))) failures += 1
console.log(`${values.runs} runs beside ${values.busy} busy processes, ${failures} with failures`)
process.exitCode = failures === 0 ? 0 : 1
rest()
