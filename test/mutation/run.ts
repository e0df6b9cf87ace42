import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative } from 'node:path'
import { readCommandLine } from '../../fixtures/command-line.ts'
import { FOLDERS, type MutatedFolder } from './folders.ts'

/** Percentage of a folder's mutants that a test must notice. */
const LEAST_SCORE = 85
/** Reports, lists of survivors, and the copies that are mutated. */
const SCRATCH = '.stryker'

interface Mutant {
  readonly mutatorName: string
  readonly replacement?: string
  readonly status: 'Killed' | 'Timeout' | 'Survived' | 'NoCoverage' | 'Ignored' | 'RuntimeError' | 'CompileError'
  readonly location: { readonly start: { readonly line: number; readonly column: number } }
}

interface Report {
  readonly files: Readonly<Record<string, { readonly mutants: readonly Mutant[] }>>
}

/** The mutants of one folder, and how many of them its tests notice. */
interface Score {
  readonly mutants: number
  readonly killed: number
  /** A line for each mutant that no test notices. */
  readonly survivors: readonly string[]
}

const print = (text: string) => process.stdout.write(`${text}\n`)
const row = (...[name, mutants, killed, survived, score]: readonly (string | number)[]) =>
  print([String(name).padEnd(20), ...[mutants, killed, survived, score].map((cell) => `${cell}`.padStart(9))].join(''))

const USAGE = `Usage: npm run mutate -- [--base REF | --all | FOLDER …]

Alters the rules in each folder bit by bit, and tells which alterations no test notices.

  --base REF  what was changed since there; main by default
  --all       everything
  FOLDER      ${FOLDERS.map(({ name }) => name).join(', ')}`
const { values, positionals, refuse } = readCommandLine(
  USAGE,
  { all: { type: 'boolean', default: false }, base: { type: 'string', default: 'main' } },
  { allowPositionals: true },
)
const chosen = FOLDERS.filter(
  ({ name }) =>
    positionals.length === 0 || positionals.some((argument) => argument === name || argument === name.split('/')[0]),
)
if (chosen.length === 0) refuse(`${positionals.join(' ')} is no such folder.`)
const isWhole = values.all || positionals.length > 0
const changed = isWhole ? undefined : new Set(changedSince(values.base))

mkdirSync(SCRATCH, { recursive: true })
const scores: [name: string, Score][] = []
for (const folder of chosen) {
  const rules = filesOf(folder.rules).filter((file) => changed?.has(file) ?? true)
  if (rules.length > 0) scores.push([folder.name, mutate(folder, rules)])
}
row('folder', 'mutants', 'killed', 'survived', 'score')
for (const [name, { mutants, killed, survivors }] of scores) {
  row(name, mutants, killed, survivors.length, `${percent(killed, mutants).toFixed(1)} %`)
}
if (scores.length === 0) print(`no rule was changed since ${values.base}`)
process.exitCode = scores.some(([, { mutants, killed }]) => percent(killed, mutants) < LEAST_SCORE) ? 1 : 0

/** Changed on this branch or not committed yet. */
function changedSince(base: string): readonly string[] {
  const git = (...args: readonly string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim().split('\n')
  const [fork = base] = git('merge-base', base, 'HEAD')
  return [...git('diff', '--name-only', fork), ...git('ls-files', '--others', '--exclude-standard')]
}

function filesOf(paths: readonly string[]): readonly string[] {
  return paths.flatMap((path) =>
    statSync(path).isFile()
      ? [path]
      : readdirSync(path, { recursive: true, encoding: 'utf8' })
          .filter((name) => name.endsWith('.ts'))
          .map((name) => join(path, name)),
  )
}

function mutate({ name, tests }: MutatedFolder, rules: readonly string[]): Score {
  const file = (report: string) => join(SCRATCH, `${name.replace('/', '-')}-${report}`)
  for (const old of ['report.json', 'copy']) rmSync(file(old), { recursive: true, force: true })
  const options = {
    mutate: rules,
    testRunner: 'mocha',
    plugins: [join(import.meta.dirname, 'mocha-runner.ts')],
    mochaOptions: { spec: filesOf(tests).filter((test) => test.endsWith('.test.ts')) },
    ignorers: ['texts'],
    warnings: { unknownOptions: false },
    testRunnerNodeArgs: ['--import', 'tsx'],
    // Without checkers, this process still loads the plugin above, which is TypeScript.
    checkerNodeArgs: ['--import', 'tsx'],
    coverageAnalysis: 'perTest',
    // A mutant in code that runs at load needs a process of its own. A schema has hundreds.
    ignoreStatic: name.startsWith('config/'),
    disableTypeChecks: false,
    // A file that does not exist: to read the project's, Stryker would need an API that the native compiler lacks.
    tsconfigFile: file('tsconfig.json'),
    concurrency: Math.max(1, availableParallelism() - 1),
    ignorePatterns: ['dist', 'data', SCRATCH],
    tempDirName: file('copy'),
    logLevel: 'warn',
    reporters: ['progress-append-only', 'json'],
    jsonReporter: { fileName: file('report.json') },
  }
  writeFileSync(file('options.json'), JSON.stringify(options, null, 2))
  const stryker = 'node_modules/@stryker-mutator/core/bin/stryker.js'
  const { status, signal } = spawnSync(process.execPath, ['--import', 'tsx', stryker, 'run', file('options.json')], {
    stdio: 'inherit',
  })
  if (status !== 0) throw new Error(`the mutants of ${name} could not be tried: ${signal ?? status}`)
  const score = scoreOf(JSON.parse(readFileSync(file('report.json'), 'utf8')) as Report)
  writeFileSync(file('survivors.txt'), score.survivors.map((line) => `${line}\n`).join(''))
  return score
}

function scoreOf({ files }: Report): Score {
  const mutants = Object.entries(files).flatMap(([path, file]) =>
    file.mutants.map(({ location: { start }, ...mutant }) => ({
      ...mutant,
      line: `${relative('.', path)}:${start.line}:${start.column} ${mutant.mutatorName} ${mutant.status}: ${mutant.replacement?.replace(/\s+/g, ' ')}`,
    })),
  )
  const killed = mutants.filter(({ status }) => status === 'Killed' || status === 'Timeout')
  const survivors = mutants.filter(({ status }) => status === 'Survived' || status === 'NoCoverage')
  return {
    mutants: killed.length + survivors.length,
    killed: killed.length,
    survivors: survivors.map(({ line }) => line),
  }
}

function percent(part: number, whole: number): number {
  return whole === 0 ? 100 : (100 * part) / whole
}
